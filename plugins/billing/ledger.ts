import type { Statements } from '../../core/data/database.ts'
import { newId } from '../../core/ids.ts'
import type { Balance, EntryKind } from './schemas.ts'

// All statements of the program that write accounts, entries and holds. Each function is part of its caller's
// transaction. The account's row is written first, so that transactions on one account run one after the other.

/** A new entry of the ledger. */
export interface NewEntry {
  playerId: string
  /** Whole credits, not 0. A negative amount removes credits. */
  amount: number
  kind: EntryKind
  description: string
  /** Identifies the cause in the whole platform, such as `signup/<player>`. */
  key: string
}

interface AccountRow {
  balance: number
  held: number
}

export const balanceOf = ({ balance, held }: AccountRow): Balance => ({ balance, held, available: balance - held })

export const EMPTY: Balance = { balance: 0, held: 0, available: 0 }

/** Returns an account, or null. */
export async function read(statements: Pick<Statements, 'query'>, playerId: string) {
  const [row] = await statements.query<AccountRow & { welcomed: number }>(
    'select balance, held, welcomed from credit_accounts where player_id = ?',
    [playerId],
  )
  return row ? { ...balanceOf(row), welcomed: row.welcomed !== 0 } : null
}

/** Creates the account if it does not exist. */
export async function open(statements: Statements, playerId: string): Promise<void> {
  await statements.execute(
    'insert into credit_accounts (player_id, balance, held, welcomed) values (?, 0, 0, ?) on conflict do nothing',
    [playerId, false],
  )
}

/**
 * Claims the sign-up credits of an account, which are granted once.
 *
 * @returns whether they were still available
 */
export async function claimSignUpCredits(statements: Statements, playerId: string): Promise<boolean> {
  await open(statements, playerId)
  const sql = 'update credit_accounts set welcomed = ? where player_id = ? and welcomed = ?'
  return (await statements.execute(sql, [true, playerId, false])) === 1
}

/**
 * Adds an entry and changes the balance by its amount. The account must be open. Taking more than is available violates
 * the table's checks and so aborts the transaction.
 *
 * @returns false when an entry with this key exists already; nothing is changed then
 */
export async function enter(statements: Statements, entry: NewEntry, now: Date): Promise<boolean> {
  const { playerId, amount } = entry
  if (!(await note(statements, entry, now))) return false
  await change(statements, 'update credit_accounts set balance = balance + ? where player_id = ?', [amount, playerId])
  return true
}

/** Writes only the entry; the caller changes the balance. @returns false when an entry with this key exists already */
async function note(statements: Statements, entry: NewEntry, now: Date): Promise<boolean> {
  const { playerId, amount, kind, description, key } = entry
  if (!Number.isSafeInteger(amount) || amount === 0) throw new Error(`A ledger entry of ${amount} is none.`)
  const rows = await statements.execute(
    `insert into credit_ledger (id, player_id, amount, kind, description, ${KEY}, created_at) values (?, ?, ?, ?, ?, ?, ?)
     on conflict (${KEY}) do nothing`,
    [newId('led', now), playerId, amount, kind, description.slice(0, 200), key, now],
  )
  return rows === 1
}

/** Locks an account until the transaction ends. @returns the account, which must be open */
export async function lock(statements: Statements, playerId: string): Promise<Balance> {
  await statements.execute('update credit_accounts set held = held where player_id = ?', [playerId])
  return (await read(statements, playerId)) ?? EMPTY
}

/** Reserves credits. @returns false when fewer are available; nothing is changed then */
export async function hold(
  statements: Statements,
  {
    id,
    playerId,
    amount,
    key,
    expiresAt,
    holder,
  }: { id: string; playerId: string; amount: number; key: string; expiresAt: Date; holder: string },
): Promise<boolean> {
  const rows = await statements.execute(
    'update credit_accounts set held = held + ? where player_id = ? and welcomed = ? and balance - held >= ?',
    [amount, playerId, true, amount],
  )
  if (rows === 0) return false
  await statements.execute(
    `insert into credit_holds (id, player_id, amount, ${KEY}, expires_at, holder) values (?, ?, ?, ?, ?, ?)`,
    [id, playerId, amount, key, expiresAt, holder],
  )
  return true
}

/**
 * Ends a hold: its credits are available again.
 *
 * @param before ends it only if it expires before this time
 * @returns whether it was still open
 */
export async function endHold(statements: Statements, holdId: string, before?: Date): Promise<boolean> {
  const held = await takeHold(statements, holdId, before)
  if (!held) return false
  const { player_id: playerId, amount } = held
  await change(statements, 'update credit_accounts set held = held - ? where player_id = ?', [amount, playerId])
  return true
}

/**
 * Ends a hold and charges the price of its use.
 *
 * @param amount whole credits, 0 to the held amount
 * @returns the account afterwards; null when the hold has ended already
 */
export async function settleHold(
  statements: Statements,
  { holdId, amount, description }: { holdId: string; amount: number; description: string },
  now: Date,
): Promise<Balance | null> {
  const held = await takeHold(statements, holdId)
  if (!held) return null
  const { player_id: playerId } = held
  if (!Number.isSafeInteger(amount) || amount < 0 || amount > held.amount)
    throw new Error(`${amount} credits can't be charged on a hold of ${held.amount}.`)
  if (amount > 0) {
    const entry = { playerId, amount: -amount, kind: 'generation', description, key: `hold/${holdId}` } as const
    if (!(await note(statements, entry, now))) throw new Error(`The hold ${holdId} was charged already.`)
  }
  const [account] = await statements.query<AccountRow>(
    'update credit_accounts set held = held - ?, balance = balance - ? where player_id = ? returning balance, held',
    [held.amount, amount, playerId],
  )
  if (!account) throw new Error(`There is no account ${playerId}.`)
  return balanceOf(account)
}

async function takeHold(statements: Statements, holdId: string, before?: Date) {
  const [row] = await statements.query<{ player_id: string; amount: number }>(
    `delete from credit_holds where id = ?${before ? ' and expires_at < ?' : ''} returning player_id, amount`,
    before ? [holdId, before] : [holdId],
  )
  return row ?? null
}

/**
 * Separates an account from its player. It continues under an anonymous id, so that the sums, later refunds and open
 * holds stay right; texts that people wrote are deleted.
 *
 * @param execute runs a statement of the caller's transaction
 * @param nobody a new id
 */
export async function part(
  execute: (sql: string, parameters: string[]) => Promise<unknown>,
  playerId: string,
  nobody: string,
): Promise<void> {
  const rename = (table: string) => execute(`update ${table} set player_id = ? where player_id = ?`, [nobody, playerId])
  // Holds come before the account, in the order in which they end, and again after it for a concurrent new one.
  for (const table of ['credit_holds', 'credit_accounts', 'credit_holds', 'credit_purchases']) await rename(table)
  await execute(
    `update credit_ledger set player_id = ?, ${KEY} = replace(${KEY}, ?, ?),
     description = case when kind in ('grant', 'adjustment') then ? else description end where player_id = ?`,
    [nobody, playerId, nobody, 'Of an account that has ended', playerId],
  )
}

async function change(statements: Statements, sql: string, parameters: [number, string]): Promise<void> {
  if ((await statements.execute(sql, parameters)) !== 1) throw new Error(`There is no account ${parameters[1]}.`)
}

/** `key` is a keyword of SQL, and both databases accept it in quotes. */
const KEY = '"key"'
