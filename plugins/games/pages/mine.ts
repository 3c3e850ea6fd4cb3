import type { FastifyInstance } from 'fastify'
import {
  Button,
  Chip,
  Confirm,
  type Content,
  EmptyState,
  Field,
  Form,
  html,
  PageHeader,
  Pagination,
  Section,
  type Stat,
  Stats,
  Table,
  Timestamp,
  type View,
} from '../../../core/pages/index.ts'
import type { LoadedColumn } from '../dashboard.ts'
import { RESTORABLE_MS } from '../deletion.ts'
import { isReady, pathOf } from '../record.ts'
import type { Game } from '../schemas.ts'
import { stateChips } from './dashboard.ts'
import { gameTitle } from './game-title.ts'

export interface MyGamesProps {
  /** The viewer. */
  playerId: string
  games: Game[]
  /** The plugins' columns for each game. */
  columns: LoadedColumn[]
  /** The plugins' stats for all games. */
  stats: Stat[]
  /** The games of others that the viewer tests. */
  tested: Game[]
  /** The games that can still be restored. */
  deleted: { games: Game[]; nextCursor: string | null }
  /** The cursor of the deleted games. */
  deletedAfter: string | undefined
  nextCursor: string | null
  cursor: string | undefined
  refused?: RefusedDeletion | undefined
}

/** A deletion for good that was refused, with what its owner typed. */
export interface RefusedDeletion {
  /** Of the game. */
  id: string
  confirm: string
  message: string
  status: number
}

/** Renders the owner's games or, if there are none, the commands that create one. */
export function myGames(
  { origins, games: { dashboard } }: Pick<FastifyInstance, 'origins' | 'games'>,
  { playerId, games, columns: known, stats, tested, deleted, deletedAfter, nextCursor, cursor, refused }: MyGamesProps,
): View {
  const hasOthers = games.some(({ ownerId }) => ownerId !== playerId)
  const columns = [
    { label: 'Game', cell: (game: Game) => html`<a href=${`${pathOf(game)}/overview`}>${gameTitle(game)}</a>` },
    ...(hasOthers ? [{ label: 'Role', cell: ({ ownerId }: Game) => (ownerId === playerId ? 'owner' : 'maker') }] : []),
    {
      label: 'State',
      cell: (game: Game) => html`<span class="row">${stateChips(game, isReady(game))}</span>`,
    },
    ...known.map((column) => ({
      label: column.label,
      align: column.align ?? ('end' as const),
      cell: (game: Game) =>
        column.live
          ? html`<span data-part=${cellPart(column, game.id)}>${cellOf(column, game.id)}</span>`
          : cellOf(column, game.id),
    })),
    {
      label: 'Actions',
      action: true,
      cell: (game: Game) =>
        html`<${Button} small href=${`${pathOf(game)}/deploys`} label=${`Deploy ${game.title}`}>Deploy<//>`,
    },
  ]
  const empty = html`
    <${EmptyState} title="No games yet" command=${createCommand(origins.portal)} action=${{ href: '/games/new', label: 'Create a game' }}>
      <p>Create one here${dashboard.newGame.map(({ label, href }) => html`, <a href=${href}>${label.toLowerCase()}</a>`)}, or from a terminal with an <a href="/settings/tokens">API token</a> that has the scope <code>games:write</code>:</p>
    <//>`
  return html`
    <${PageHeader} title="My games" actions=${games.length > 0 && html`<${Button} kind="act" href="/games/new">New game<//>`} />
    <div class="stack" data-events=${games.length > 0 ? `/live/games${cursor ? `?cursor=${cursor}` : ''}` : undefined}>
      ${games.length > 0 && html`<${Stats} items=${stats.map((stat) => ({ ...stat, part: stat.live ? statPart(stat) : undefined }))} />`}
      ${hasOthers && html`<p class="soft">These figures are of the games that you own.</p>`}
      <${Table} caption="My games" columns=${columns} rows=${games} empty=${empty} />
      <${Pagination} label="My games" next=${nextCursor && `/games?cursor=${nextCursor}`} first=${cursor && '/games'} />
    </div>
    ${
      tested.length > 0 &&
      html`<${Section} title="Games that you test" id="tested" description="Their makers let you play them before others.">
        <${Table} caption="Games that you test" columns=${testedColumns(playerId)} rows=${tested} />
      <//>`
    }
    ${
      deleted.games.length > 0 &&
      html`<${Section} title="Deleted" id="deleted" description="You can restore a deleted game for 30 days, at the same address. Until it is gone for good it counts as one of your games, and so do its files.">
        <${Table} caption="Deleted games" columns=${deletedColumns(deletedAfter, refused)} rows=${deleted.games} />
        <${Pagination} label="Deleted games" next=${deleted.nextCursor && `/games?after=${deleted.nextCursor}#deleted`} first=${deletedAfter && '/games#deleted'} />
      <//>`
    }`
}

/** Returns the cell of a column for a game. */
export function cellOf({ cells, live, align = 'end' }: LoadedColumn, gameId: string): Content {
  const value = cells.get(gameId)
  if (value === undefined) return html`<span class="soft">${align === 'end' ? 0 : 'never'}</span>`
  return live ? html`<${Chip} live>${value}<//>` : value
}

/** The names of the elements that the stream of this page updates (live.ts). */
export const cellPart = ({ label }: { label: string }, gameId: string): string => `${label} of ${gameId}`
export const statPart = ({ label }: { label: string }): string => `all ${label}`

const testedColumns = (playerId: string) => [
  { label: 'Game', cell: (game: Game) => html`<a href=${pathOf(game)}>${gameTitle(game)}</a>` },
  {
    label: 'Actions',
    action: true,
    cell: (game: Game) => html`
      <${Confirm} small label="Leave" name=${`Leave ${game.title}`} action=${`${pathOf(game)}/team/remove`}>
        <p>While <strong>${gameTitle(game)}</strong> is private, you can come back with a new invitation only.</p>
        <input type="hidden" name="member" value=${playerId} />
      <//>`,
  },
]

const deletedColumns = (after: string | undefined, refused: RefusedDeletion | undefined) => [
  { label: 'Game', cell: (game: Game) => game.title },
  // A deleted game never changes, so its last change is its deletion.
  { label: 'Deleted', cell: (game: Game) => html`<${Timestamp} at=${game.updatedAt} />` },
  {
    label: 'Gone for good',
    cell: (game: Game) => html`<${Timestamp} at=${Date.parse(game.updatedAt) + RESTORABLE_MS} />`,
  },
  {
    label: 'Actions',
    action: true,
    cell: (game: Game) => {
      const again = refused?.id === game.id ? refused : undefined
      return html`<span class="row">
        <${Form} action="/games/restore"><${Button} small name="game" value=${game.id} label=${`Restore ${game.title}`}>Restore<//><//>
        <${Confirm} small label="Delete for good" name=${`Delete for good: ${game.title}`} action="/games/erase" open=${again !== undefined}>
          <p><strong>${gameTitle(game)}</strong> can't be brought back then. Its files, saves, scores and statistics go with it.</p>
          <input type="hidden" name="game" value=${game.id} />
          ${after && html`<input type="hidden" name="after" value=${after} />`}
          <${Field} label=${`Type ${game.slug} to confirm`} name="confirm" value=${again?.confirm ?? ''} error=${again?.message} required autocomplete="off" mono />
        <//>
      </span>`
    },
  },
]

const createCommand = (portal: string): string => `export SERVICE_API_TOKEN=svc_api_…

curl ${portal}/api/games \\
  -H "Authorization: Bearer $SERVICE_API_TOKEN" \\
  -H 'Content-Type: application/json' \\
  -d '{"title": "My first game", "description": "Jump and run"}'`
