import type { FastifyInstance } from 'fastify'
import {
  Button,
  Chip,
  EmptyState,
  Form,
  html,
  PageHeader,
  Pagination,
  Section,
  type Stat,
  Stats,
  Table,
  type View,
  When,
} from '../../../core/pages.ts'
import type { Dashboard } from '../dashboard.ts'
import { isReady, pathOf } from '../record.ts'
import { RESTORABLE_MS } from '../removals.ts'
import type { Game } from '../schemas.ts'
import { stateChips } from './dashboard.ts'

export interface MyGamesProps {
  games: Game[]
  /** What plugins say of each. */
  columns: Awaited<ReturnType<Dashboard['loadColumns']>>
  /** What they say of all of them. */
  figures: Stat[]
  /** Those that can still be restored. */
  deleted: Game[]
  nextCursor: string | null
  cursor: string | undefined
}

/** The owner's games; where there are none, the very commands that make one. */
export function myGames(
  { origins }: Pick<FastifyInstance, 'origins'>,
  { games, columns: known, figures, deleted, nextCursor, cursor }: MyGamesProps,
): View {
  const columns = [
    { label: 'Game', cell: (game: Game) => html`<a href=${`${pathOf(game)}/overview`}><bdi>${game.title}</bdi></a>` },
    {
      label: 'State',
      cell: (game: Game) => html`<span class="row">${stateChips(game, isReady(game))}</span>`,
    },
    ...known.map(({ label, align = 'end', live, cells }) => ({
      label,
      align,
      cell: (game: Game) => {
        const value = cells.get(game.id)
        if (value === undefined) return html`<span class="soft">${align === 'end' ? 0 : 'never'}</span>`
        return live ? html`<${Chip} live>${value}<//>` : value
      },
    })),
    {
      label: 'Actions',
      action: true,
      cell: (game: Game) =>
        html`<${Button} small href=${`${pathOf(game)}/deploys`} label=${`Deploy ${game.title}`}>Deploy<//>`,
    },
  ]
  const empty = html`
    <${EmptyState} title="No games yet" command=${createCommand(origins.portal)} action=${{ href: '/games/new', label: 'Make a game' }}>
      <p>Make one here, or from a terminal with an <a href="/settings/tokens">API token</a> that has the scope <code>games:write</code>:</p>
    <//>`
  return html`
    <${PageHeader} title="My games" actions=${games.length > 0 && html`<${Button} kind="act" href="/games/new">New game<//>`} />
    <div class="stack">
      ${games.length > 0 && html`<${Stats} items=${figures} />`}
      <${Table} caption="My games" columns=${columns} rows=${games} empty=${empty} />
      <${Pagination} label="My games" next=${nextCursor && `/games?cursor=${nextCursor}`} first=${cursor && '/games'} />
    </div>
    ${
      deleted.length > 0 &&
      html`<${Section} title="Deleted" id="deleted" description="For 30 days a deleted game can be brought back as it was, at the same address.">
        <${Table} caption="Deleted games" columns=${DELETED} rows=${deleted} />
      <//>`
    }`
}

const DELETED = [
  { label: 'Game', cell: (game: Game) => game.title },
  // Nothing changes a deleted game, so its last change is its end.
  { label: 'Deleted', cell: (game: Game) => html`<${When} at=${game.updatedAt} />` },
  { label: 'Gone for good', cell: (game: Game) => html`<${When} at=${Date.parse(game.updatedAt) + RESTORABLE_MS} />` },
  {
    label: 'Actions',
    action: true,
    cell: (game: Game) =>
      html`<${Form} action="/games/restore"><${Button} small name="game" value=${game.id} label=${`Bring back ${game.title}`}>Bring back<//><//>`,
  },
]

const createCommand = (portal: string): string => `export SERVICE_API_TOKEN=svc_api_…

curl ${portal}/api/games \\
  -H "Authorization: Bearer $SERVICE_API_TOKEN" \\
  -H 'Content-Type: application/json' \\
  -d '{"title": "My first game", "description": "Jump and run"}'`
