import { Avatar, Card, type Content, html, Timestamp, type View } from '../../../core/pages/index.ts'
import { formatScore } from '../format-score.ts'
import type { Entry, PeriodName, PublicBoard, ScoreList } from '../schemas.ts'

/** The entries of the podium: the first three ranks. */
const PODIUM_RANKS = 3

/** Renders a part of a board: the first ranks on a podium, the others as a list, and the viewer's own at the end. */
export function ranking({ board, entries, me }: ScoreList, { podium }: { podium: boolean }): View {
  const first = podium ? entries.filter(({ rank }) => rank <= PODIUM_RANKS).slice(0, PODIUM_RANKS) : []
  const others = entries.slice(first.length)
  const hidden = me && !entries.some((entry) => entry.me)
  return html`
    ${first.length > 0 && html`<ol class="board-podium" role="list">${first.map((entry) => step(board, entry))}</ol>`}
    ${
      (others.length > 0 || hidden) &&
      html`<ol class="board-list" role="list" start=${others[0]?.rank ?? me?.rank}>
      ${others.map((entry) => line(board, entry))}
      ${hidden && html`${others.length > 0 && html`<li class="board-gap" aria-hidden="true">…</li>`}${line(board, me)}`}
    </ol>`
    }`
}

/** Renders a rank as text: a browser drops the numbers of a list that is styled without them, also for screen readers. */
const place = (rank: number): View =>
  html`<span class="board-rank"><span class="visually-hidden">Rank </span>${rank}</span>`

const step = (board: PublicBoard, { rank, player, score, me }: Entry): View => html`
  <li class=${`board-step step-${rank}${me ? ' me' : ''}`} value=${rank}>
    ${place(rank)}
    <${Avatar} name=${player.name} imageUrl=${player.imageUrl} />
    <span class="board-name"><bdi>${player.name}</bdi>${me && html` <span class="soft">you</span>`}</span>
    <strong class="board-score">${formatScore(score, board)}</strong>
  </li>`

const line = (board: PublicBoard, { rank, player, score, me }: Entry): View => html`
  <li class=${me ? 'board-line me' : 'board-line'} value=${rank}>
    ${place(rank)}
    <${Avatar} name=${player.name} imageUrl=${player.imageUrl} size="s" />
    <span class="board-name"><bdi>${player.name}</bdi>${me && html` <span class="soft">you</span>`}</span>
    <strong class="board-score">${formatScore(score, board)}</strong>
  </li>`

const PERIODS: Record<PublicBoard['reset'], Partial<Record<PeriodName, string>>> = {
  never: {},
  daily: { current: 'Today', previous: 'Yesterday', all: 'All time' },
  weekly: { current: 'This week', previous: 'Last week', all: 'All time' },
  monthly: { current: 'This month', previous: 'Last month', all: 'All time' },
}

/** Returns the name of a period of a board; undefined where there is only one. */
export const periodName = ({ reset }: PublicBoard, period: PeriodName): string | undefined => PERIODS[reset][period]

/** Renders the choice of the period; nothing for a board that never resets. */
export const periodChoice = (board: PublicBoard, path: string, current: PeriodName): Content =>
  board.reset !== 'never' &&
  html`<nav aria-label="Period"><ul class="tags">${Object.entries(PERIODS[board.reset]).map(
    ([period, name]) =>
      html`<li><a href=${`${path}?period=${period}`} aria-current=${period === current ? 'true' : undefined}>${name}</a></li>`,
  )}</ul></nav>`

const number = new Intl.NumberFormat('en')

/** Describes the number of players, and when the board resets. */
export const summary = ({ board, total, periodEndsAt }: ScoreList, period: PeriodName): Content => html`
  ${total === 1 ? 'One player' : `${number.format(total)} players`}${board.order === 'asc' ? ', the lowest score is best' : ''}.
  ${period === 'current' && periodEndsAt && html` It resets on <${Timestamp} at=${new Date(periodEndsAt)} />`}`

/** Renders a board on the page of its game: the podium, the next entries, and the viewer's own. */
export function boardCard(list: ScoreList, path: string): View {
  const { board, total, entries } = list
  const period = periodName(board, 'current')
  return html`
    <section class="board" aria-label=${board.title}>
      <${Card}>
        <div class="board-head">
          <h2><a href=${path}>${board.title}</a></h2>
          ${period && html`<span class="chip info">${period}</span>`}
        </div>
        ${entries.length > 0 ? ranking(list, { podium: true }) : html`<p class="soft">Nobody is on this board yet. The first place is free.</p>`}
        ${total > entries.length && html`<p><a href=${path}>All ${number.format(total)} players</a></p>`}
      <//>
    </section>`
}
