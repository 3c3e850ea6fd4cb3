import type { Database, Statements } from '../../core/data/database.ts'
import { NotFound } from '../../core/errors.ts'
import { Suspended } from './errors.ts'

type Dialect = Pick<Database, 'dialect'>

/**
 * On PostgreSQL the game can't be deleted or suspended until the transaction ends: both lock its row first (`for update`).
 * Other changes of the row go on. SQLite has one writer anyway.
 */
const lockOf = ({ dialect }: Dialect): string => (dialect === 'postgres' ? ' for key share' : '')

/** Checks in a transaction that a game is the player's and not deleted. @throws NotFound */
export async function mustStillOwn(db: Dialect, { query }: Statements, id: string, ownerId: string): Promise<void> {
  const rows = await query(`select id from games where id = ? and owner_id = ? and deleted_at is null${lockOf(db)}`, [
    id,
    ownerId,
  ])
  if (rows.length === 0) throw new NotFound('game')
}

/** Checks in a transaction that a player may play a game. @throws NotFound, Suspended */
export async function mustStillPlay(db: Dialect, { query }: Statements, id: string, playerId: string): Promise<void> {
  const [game] = await query<{ owner: string; visibility: string; invited: string | string[]; suspended: unknown }>(
    `select owner_id as owner, visibility, invited, suspended_at as suspended from games
     where id = ? and deleted_at is null${lockOf(db)}`,
    [id],
  )
  if (!game) throw new NotFound('game')
  // A transaction of prepared statements reads JSON as text.
  const invited = typeof game.invited === 'string' ? (JSON.parse(game.invited) as string[]) : game.invited
  const isAdmitted = game.visibility === 'public' || game.owner === playerId || invited.includes(playerId)
  if (!isAdmitted) throw new NotFound('game')
  if (game.suspended !== null) throw new Suspended()
}

/** Checks in a transaction that a game is neither deleted nor suspended. @throws NotFound, Suspended */
export async function mustStillBeOpen(db: Dialect, { query }: Statements, id: string): Promise<void> {
  const [game] = await query<{ suspended: unknown }>(
    `select suspended_at as suspended from games where id = ? and deleted_at is null${lockOf(db)}`,
    [id],
  )
  if (!game) throw new NotFound('game')
  if (game.suspended) throw new Suspended()
}
