import type { FastifyInstance } from 'fastify'
import {
  BarChart,
  Button,
  Card,
  Checkbox,
  Confirm,
  EmptyState,
  Form,
  html,
  Notice,
  NumberTable,
  Pagination,
  Section,
  Table,
  Timestamp,
  type View,
} from '../../../core/pages/index.ts'
import { dashboardHeader, type Game } from '../../games/index.ts'
import { formatScore } from '../format-score.ts'
import type { StoredBoard } from '../record.ts'
import type { Entry, Excluded, PeriodName, ScoreList } from '../schemas.ts'
import { boardForm } from './owner-form.ts'
import { periodChoice, summary } from './ranking.ts'

interface BoardProps {
  board: StoredBoard
  list: ScoreList
  excluded: Excluded['players']
  days: { date: string; submissions: number }[]
  period: PeriodName
  isFirst: boolean
  hasScores: boolean
  /** Why no score will arrive; null for no reason. */
  warning: string | null
}

const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })

/** Renders one board for its owner: its entries, its submissions by day, its fields, the excluded players. */
export function boardPage(
  app: Pick<FastifyInstance, 'games' | 'origins' | 'browserFiles'>,
  game: Game,
  props: BoardProps,
): View {
  const { board, list, excluded, days, period, isFirst, hasScores, warning } = props
  const boards = `/games/${game.slug}/scores`
  const path = `${boards}/${board.id}`
  const query = period === 'current' ? '?' : `?period=${period}&`
  return html`
    ${dashboardHeader(app, game, boards)}
    ${warning && html`<${Notice} tone="warn" title=${warning}>Publish a build with a <a href="/docs/room-scripts">room script</a>, or let the browsers of players submit scores.<//>`}
    <${Section} title=${board.fields.title} description=${summary(list, period)}
      action=${html`<${Button} href=${`/games/${game.slug}/boards/${board.id}`}>Its page<//>`}>
      ${periodChoice(list.board, path, period)}
      <${Table} caption=${`Scores of ${board.fields.title}`} columns=${columns(list, path)} rows=${list.entries}
        empty=${html`<${EmptyState} title="No scores"><p>The game submits with <code>board('${board.id}').submit(score)</code>.</p><//>`} />
      <${Pagination} label="Scores" next=${list.nextCursor && `${path}${query}cursor=${list.nextCursor}`} first=${isFirst ? null : `${path}${query}`.slice(0, -1)} />
    <//>
    <${Section} title="Submissions" description="Days are in UTC.">
      <div class="charts" data-chart-library=${app.browserFiles.url('chart.js')}>
        <${Card}><${BarChart} title="Submissions" total=${days.reduce((sum, { submissions }) => sum + submissions, 0)} totalLabel=${`in ${days.length} days`}
          points=${days.map(({ date, submissions }) => ({ label: day.format(new Date(date)), value: submissions }))} /><//>
      </div>
      ${inNumbers(board, days)}
    <//>
    ${excluded.length > 0 && html`<${Section} title="Kept off"><${Table} caption="Players who are kept off" columns=${excludedColumns(path)} rows=${excluded} /><//>`}
    <${Section} layout="side" title="Fields" description=${html`In the code of the game: <code>board('${board.id}')</code>`}>
      ${boardForm({ action: path, submit: 'Save', values: board.fields, isNew: false, hasScores })}
    <//>
    <${Section} layout="side" title="Remove the board" description="Its scores go with it. Nothing brings them back.">
      <${Confirm} label="Remove the board" action=${`${path}/change`} submit=${`Remove ${board.fields.title}`}>
        <p>The board goes with all of its scores, of every period.</p>
        <input type="hidden" name="do" value="remove-board" />
      <//>
    <//>`
}

/** The same numbers for screen readers, and for who wants them exactly. */
function inNumbers(board: StoredBoard, days: BoardProps['days']): View | null {
  const happened = days.filter(({ submissions }) => submissions > 0).reverse()
  if (happened.length === 0) return null
  return html`<${NumberTable} caption=${`Submissions to ${board.fields.title}`} heads=${['Day', 'Submissions']} rows=${happened.map(
    ({ date, submissions }) => ({
      name: html`<time datetime=${date}>${day.format(new Date(date))}</time>`,
      values: [submissions],
    }),
  )} />`
}

const columns = ({ board }: ScoreList, path: string) => [
  { label: 'Player', primary: true, cell: ({ player }: Entry) => html`<bdi>${player.name}</bdi>` },
  { label: 'Rank', align: 'end' as const, cell: ({ rank }: Entry) => rank },
  {
    label: 'Score',
    align: 'end' as const,
    cell: ({ score }: Entry) => html`<span class="board-score">${formatScore(score, board)}</span>`,
  },
  {
    label: 'Detail',
    cell: ({ detail }: Entry) =>
      detail === null ? html`<span class="soft">none</span>` : html`<code>${shortened(JSON.stringify(detail))}</code>`,
  },
  { label: 'At', cell: ({ at }: Entry) => html`<${Timestamp} at=${new Date(at)} />` },
  {
    label: 'Actions',
    action: true,
    cell: ({ player }: Entry) => html`
      <${Confirm} label="Remove" name=${`Remove the score of ${player.name}`} action=${`${path}/change`} submit="Remove the score">
        <p>${player.name} loses what they have on this board, in every period.</p>
        <input type="hidden" name="player" value=${player.sub} /><input type="hidden" name="do" value="remove" />
        <${Checkbox} name="exclude" id=${`exclude-${player.sub}`} label="Keep them off this board from now on" />
      <//>`,
  },
]

const shortened = (text: string) => (text.length > 60 ? `${text.slice(0, 59)}…` : text)

const excludedColumns = (path: string) => [
  { label: 'Player', cell: ({ name }: Excluded['players'][number]) => html`<bdi>${name}</bdi>` },
  { label: 'Since', cell: ({ at }: Excluded['players'][number]) => html`<${Timestamp} at=${new Date(at)} />` },
  {
    label: 'Actions',
    action: true,
    cell: ({ sub, name }: Excluded['players'][number]) => html`
      <${Form} action=${`${path}/change`}>
        <input type="hidden" name="player" value=${sub} />
        <${Button} name="do" value="include" small label=${`Let them back: ${name}`}>Let them back<//>
      <//>`,
  },
]
