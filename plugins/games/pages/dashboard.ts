import type { FastifyInstance } from 'fastify'
import { Button, Chip, type Content, html, PageHeader, Tabs, type View } from '../../../core/pages/index.ts'
import { isReady, pathOf } from '../record.ts'
import type { Game } from '../schemas.ts'

/** Renders the header of a game's dashboard: its name, its state, and the tabs that plugins add. */
export function dashboardHeader(
  app: Pick<FastifyInstance, 'games' | 'origins'>,
  game: Game,
  current: string,
  actions?: Content,
): View {
  const ready = isReady(game)
  return html`
    <${PageHeader} title=${game.title} address=${game.url}
      chips=${stateChips(game, ready)}
      actions=${actions ?? (ready && html`<${Button} href=${pathOf(game)}>Play<//>`)} />
    ${gameTabs(app, game, current)}`
}

/** Renders only the tabs. */
export const gameTabs = (app: Pick<FastifyInstance, 'games'>, game: Game, current: string): View => html`
  <${Tabs} label=${game.title} current=${current} tabs=${app.games.dashboard.tabs
    .toSorted((a, b) => a.order - b.order)
    .map((tab) => ({ label: tab.label, href: tab.href(game) }))} />`

/** Shows whether the game is playable, and for whom. */
export const stateChips = (game: Game, ready: boolean): Content => html`
  ${game.suspended ? html`<${Chip} tone="error">suspended<//>` : !ready ? html`<${Chip} tone="warn">${game.playable ? 'not published' : 'closed'}<//>` : !game.approval && html`<${Chip} live>live<//>`}
  ${heldChip(game) ?? (game.visibility === 'private' && html`<${Chip}>private<//>`)}`

/** Shows that a game waits for staff, or was refused. */
const heldChip = ({ approval }: Game): Content | null =>
  approval &&
  html`<${Chip} tone=${approval.state === 'refused' ? 'error' : 'warn'}>${approval.state === 'refused' ? 'refused' : 'waits for approval'}<//>`
