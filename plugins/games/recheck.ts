import type { Database, Statements } from '../../core/data/database.ts'
import { NotFound } from '../../core/errors.ts'
import { OwnerChanged, Suspended } from './errors.ts'
import { allows, type GameAction, type MemberRole, roleOf } from './members/roles.ts'

type Dialect = Pick<Database, 'dialect'>

/**
 * On PostgreSQL the game can't be deleted or suspended until the transaction ends: both lock its row first (`for update`).
 * Other changes of the row go on. SQLite has one writer anyway.
 */
const lockOf = ({ dialect }: Dialect): string => (dialect === 'postgres' ? ' for key share' : '')

interface GameNow {
  visibility: 'public' | 'private'
  suspended: unknown
  owner: string
  invited: string | string[]
  /** The caller's row of `game_members`. */
  role: MemberRole | null
}

/** Reads what a game that is not deleted is to a player now. @throws NotFound */
async function readNow(db: Dialect, { query }: Statements, id: string, playerId: string) {
  const [game] = await query<GameNow>(
    `select visibility, suspended_at as suspended, owner_id as owner, invited,
       (select role from game_members where game_id = games.id and player_id = ?) as role
     from games where id = ? and deleted_at is null${lockOf(db)}`,
    [playerId, id],
  )
  if (!game) throw new NotFound('game')
  // A transaction of prepared statements reads JSON as text.
  const invited = typeof game.invited === 'string' ? (JSON.parse(game.invited) as string[]) : game.invited
  const { role } = game
  return {
    isPublic: game.visibility === 'public',
    suspended: game.suspended !== null,
    ownerId: game.owner,
    role: roleOf(playerId, {
      ownerId: game.owner,
      makerIds: role === 'maker' ? [playerId] : [],
      testerIds: invited,
    }),
  }
}

/**
 * Checks in a transaction that a player may do something with a game, and that it is not deleted.
 *
 * @param check `ownerId`: for whom the request counts what it stores
 * @throws NotFound; OwnerChanged when the game has another owner now
 */
export async function mustStillMay(
  db: Dialect,
  statements: Statements,
  check: { gameId: string; playerId: string; action: GameAction; ownerId: string },
): Promise<void> {
  const { role, ownerId } = await readNow(db, statements, check.gameId, check.playerId)
  if (!allows(role, check.action)) throw new NotFound('game')
  if (ownerId !== check.ownerId) throw new OwnerChanged()
}

/** Checks in a transaction that a player may play a game. @throws NotFound, Suspended */
export async function mustStillPlay(db: Dialect, statements: Statements, id: string, playerId: string): Promise<void> {
  const { isPublic, suspended, role } = await readNow(db, statements, id, playerId)
  if (!isPublic && !allows(role, 'test')) throw new NotFound('game')
  if (suspended) throw new Suspended()
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
