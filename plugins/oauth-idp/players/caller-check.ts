import type { SqlEntityManager } from '@mikro-orm/sql'
import type { CallerCheck, Database, Statements } from '../../../core/data/database.ts'
import { Forbidden, Unauthorized } from '../../../core/errors.ts'

type Dialect = Pick<Database, 'dialect'>

/**
 * An arbitrary number: the PostgreSQL lock of transactions that may lock accounts of several people. They run one after
 * the other, since two of staff that disable each other would wait for each other.
 */
const ACCOUNTS_LOCK = 7_305_804_410

/**
 * Refuses a caller whose account was deleted or disabled, or who has lost the role, since the head of the request was
 * read. On PostgreSQL the account stays as it is until the transaction ends: ending an account locks its row
 * first (`lockAccount`), so that a cleanup sees all that was committed before.
 *
 * @throws Unauthorized, Forbidden
 */
export const callerCheck = ({ dialect }: Dialect): CallerCheck => {
  const isShared = dialect === 'postgres'
  return async (statements, { playerId, role }, { alone }) => {
    if (isShared && (alone || role !== null)) await statements.query('select pg_advisory_xact_lock(?)', [ACCOUNTS_LOCK])
    const player = await readAccount(statements, { dialect }, playerId, { alone })
    if (!player || player.disabled) throw new Unauthorized('This account has been deleted or disabled.')
    if (role === null || player.is_admin || (role === 'moderator' && player.moderator)) return
    throw new Forbidden('You have no longer the role for this.')
  }
}

/**
 * Reads an account in a transaction that makes something for it. On PostgreSQL the account neither ends nor, with
 * `alone`, is read by others like this until the transaction ends.
 *
 * @returns null when there is no such account
 */
export async function readAccount(
  { query }: Statements,
  { dialect }: Dialect,
  playerId: string,
  { alone = false } = {},
): Promise<{ disabled: unknown; is_admin: unknown; moderator: unknown } | null> {
  const lock = dialect === 'postgres' ? (alone ? ' for update' : ' for key share') : ''
  const [player] = await query<{ disabled: unknown; is_admin: unknown; moderator: unknown }>(
    `select disabled, is_admin, moderator from players where id = ?${lock}`,
    [playerId],
  )
  return player ?? null
}

/**
 * Locks an account that the transaction ends: changes of this player that have begun are committed first, and later
 * ones are refused. SQLite has one writer anyway.
 */
export async function lockAccount(em: SqlEntityManager, { dialect }: Dialect, id: string): Promise<void> {
  if (dialect === 'postgres') await em.execute('select id from players where id = ? for update', [id])
}

/**
 * Locks the administrators who are not disabled, so that the last one is not lost to two changes at once. It does not
 * wait for other changes that these people make.
 *
 * @returns their ids
 */
export async function lockAdmins(em: SqlEntityManager, { dialect }: Dialect): Promise<string[]> {
  const lock = dialect === 'postgres' ? ' for no key update' : ''
  const admins = await em.execute<{ id: string }[]>(
    `select id from players where is_admin = ? and disabled = ? order by id${lock}`,
    [true, false],
  )
  return admins.map(({ id }) => id)
}
