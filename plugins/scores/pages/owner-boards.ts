import type { FastifyInstance } from 'fastify'
import { Button, EmptyState, html, Section, Table, type View } from '../../../core/pages/index.ts'
import { dashboardHeader, type Game } from '../../games/index.ts'
import type { StoredBoard } from '../record.ts'
import { boardForm } from './owner-form.ts'

interface Row {
  board: StoredBoard
  total: number
}

const RESETS = { never: 'never', daily: 'every day', weekly: 'every Monday', monthly: 'on the first' }
const number = new Intl.NumberFormat('en')

/** Renders the boards of a game for its owner, and the form for another. */
export function boardsPage(app: Pick<FastifyInstance, 'games' | 'origins'>, game: Game, boards: Row[]): View {
  const path = `/games/${game.slug}/scores`
  const columns = [
    {
      label: 'Board',
      cell: ({ board }: Row) => html`<a href=${`${path}/${board.id}`}><bdi>${board.fields.title}</bdi></a>`,
    },
    { label: 'Id', cell: ({ board }: Row) => html`<code>${board.id}</code>` },
    { label: 'Best', cell: ({ board }: Row) => (board.fields.order === 'asc' ? 'lowest' : 'highest') },
    { label: 'Resets', cell: ({ board }: Row) => RESETS[board.fields.reset] },
    { label: 'Players', align: 'end' as const, cell: ({ total }: Row) => number.format(total) },
    {
      label: 'Actions',
      action: true,
      cell: ({ board }: Row) =>
        html`<${Button} href=${`${path}/${board.id}`} small label=${`Manage ${board.fields.title}`}>Manage<//>`,
    },
  ]
  const none = html`<${EmptyState} title="No boards yet">
    <p>Create one below. The game submits with <code>board('fastest').submit(score)</code>, and its page shows who is first.</p>
  <//>`
  return html`
    ${dashboardHeader(app, game, path)}
    <${Section} title="Boards"><${Table} caption=${`Boards of ${game.title}`} columns=${columns} rows=${boards} empty=${none} /><//>
    <${Section} layout="side" id="new" title="New board" description=${html`<a href="/docs/scores">Scores</a> explains each field, and what a score from a browser is worth.`}>
      ${boardForm({ action: path, submit: 'Create the board', values: {}, isNew: true, hasScores: false })}
    <//>`
}
