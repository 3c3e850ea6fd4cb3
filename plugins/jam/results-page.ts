import { Button, type Content, Cover, Form, html, Row, type View } from '../../core/pages/index.ts'
import { Deadline } from './deadline.ts'
import type { CategoryResult, Jam, Place, Results } from './schemas.ts'

interface ResultsProps {
  jam: Jam
  now: Date
  results: Results
  isAdmin: boolean
}

/** The results for a projector, which the organiser reveals place by place. */
export const ResultsPage = ({ jam, now: time, results, isAdmin }: ResultsProps): View => {
  const { categories } = results
  const begun = categories.filter(({ places, complete }) => places.length > 0 || complete)
  const now = begun.at(-1)
  const isMade = !jam.submissionsOpen || jam.votingOpen || results.voters > 0
  return html`
    <div class="podium-page">
      <div data-live="results" aria-live="polite">
        <header class="podium-head"><p class="podium-jam">${jam.title}</p><h1>${now?.name ?? (isMade ? 'The results' : jam.theme || 'Submissions are open')}</h1></header>
        ${now ? podium(now) : isMade && waiting(jam, results)}
        ${begun.length > 1 && html`<section class="section winners"><h2>So far</h2><ul>${begun.slice(0, -1).map(winner)}</ul></section>`}
      </div>
      <${Deadline} jam=${jam} now=${time} large />
      ${isAdmin && html`<${Steps} jam=${jam} results=${results} />`}
    </div>`
}

const waiting = ({ votingOpen }: Jam, { voters }: Results): Content => html`
  <p class="podium-waiting">${votingOpen ? 'Voting is still open.' : 'In a moment.'} ${voters === 1 ? 'One player has' : `${voters} players have`} voted${votingOpen ? ' so far' : ''}.</p>`

/** Renders the revealed places of a category. */
export const podium = ({ places, complete }: CategoryResult): Content =>
  places.length === 0 && complete
    ? html`<p class="podium-waiting">Nobody voted here.</p>`
    : html`<ol class=${`podium ${sizeOf(places)}`}>${places.map(place)}</ol>`

/** Games that share a place must fit on a projector too. */
function sizeOf(places: readonly Place[]): 'few' | 'several' | 'many' {
  const games = places.reduce((sum, { games }) => sum + games.length, 0)
  if (games === places.length) return 'few'
  return games <= 6 ? 'several' : 'many'
}

const place = ({ rank, votes, games }: Place): Content => html`
  <li class=${`podium-place place-${rank}`} value=${rank}>
    <span class="podium-rank" aria-hidden="true">${rank}</span>
    <div class="podium-games">${games.map(
      (game) => html`
        <div class="podium-game">
          <${Cover} id=${game.gameId} title=${game.title} coverUrl=${game.coverUrl} />
          <div><p class="podium-title">${game.title}</p><p class="podium-by">by ${game.by}</p></div>
        </div>`,
    )}</div>
    <span class="podium-votes"><strong>${votes}</strong> ${votes === 1 ? 'vote' : 'votes'}</span>
  </li>`

const winner = ({ name, places }: CategoryResult): Content => html`
  <li><span class="soft">${name}</span> <strong>${places[0]?.games.map(({ title }) => title).join(', ') ?? 'nobody'}</strong></li>`

const Steps = ({ jam, results }: { jam: Jam; results: Results }): View => {
  const { revealed, steps } = results
  const to = (label: string, step: number, kind: 'act' | 'plain'): Content => html`
    <${Form} action="/jam/results"><input type="hidden" name="revealed" value=${step} /><${Button} kind=${kind}>${label}<//><//>`
  return html`
    <div class="podium-steps" data-live="steps">
      ${
        jam.votingOpen
          ? html`<p>Close the voting on <a href="/jam#organise">the jam's page</a> to begin.</p>`
          : html`<${Row}>
              ${revealed > 0 && to('One back', revealed - 1, 'plain')}
              ${revealed < steps && to(revealed === 0 ? 'Reveal the first' : 'Reveal the next', revealed + 1, 'act')}
            <//><p class="soft">${revealed} of ${steps}</p>`
      }
    </div>`
}
