import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import { type Actor, recordAction } from '../../core/data/audit.ts'
import type { Parameter, Statements } from '../../core/data/database.ts'
import { cutPage, mustBeCursor, type PageQuery } from '../../core/http/pagination.ts'
import { newId } from '../../core/ids.ts'
import { HoldGone, InsufficientCredits } from './errors.ts'
import * as ledger from './ledger.ts'
import type { Balance, BillingConfig, EntryKind, LedgerEntry } from './schemas.ts'

/** The maximum number of expired holds that one sweep ends, in a transaction each. */
const SWEEP = 500

/**
 * The credit balances of players and their history. On every node, and after a crash at any moment, the balance is the
 * sum of the ledger, and the held amount never exceeds the balance.
 *
 * Work whose price is known only afterwards first holds the worst case, then settles the actual price or releases the
 * hold.
 */
export class Credits {
  readonly #parts: Pick<FastifyInstance, 'db' | 'clock' | 'log'>
  readonly #signUpCredits: number
  readonly #holder: string

  /** @param holder identifies this process in its holds */
  constructor(parts: Pick<FastifyInstance, 'db' | 'clock' | 'log'>, { signUpCredits }: BillingConfig, holder: string) {
    this.#parts = parts
    this.#signUpCredits = signUpCredits
    this.#holder = holder
  }

  /** Returns the credits of a player. The first call grants the sign-up credits exactly once. */
  async balance(playerId: string): Promise<Balance> {
    const { db } = this.#parts
    const account = await ledger.read(db, playerId)
    if (account?.welcomed) return plain(account)
    return db.groupCommit(async (statements) => {
      await this.#welcome(statements, playerId)
      return plain(await ledger.read(statements, playerId))
    })
  }

  /** Returns the balance that is stored, without the sign-up credits of an account that has not asked for them. */
  async storedBalance(playerId: string): Promise<number> {
    return (await ledger.read(this.#parts.db, playerId))?.balance ?? 0
  }

  /**
   * Reserves credits until they are settled or released, or `expiresAt` has passed, which means that the process has
   * died.
   *
   * @param amount whole credits, 1 or more
   * @param options `key`: names the use; two holds with one key can't be open at once; `also` makes further writes in
   *   the same transaction, and may refuse the hold by an error
   * @returns the hold's id
   * @throws InsufficientCredits with `balance` (the available credits) and `required` in its body
   */
  async hold(
    playerId: string,
    amount: number,
    { also, ...options }: { key: string; expiresAt: Date; also?: (statements: Statements) => Promise<void> },
  ): Promise<string> {
    const { db, clock } = this.#parts
    if (!Number.isSafeInteger(amount) || amount < 1) throw new Error(`A hold of ${amount} credits is none.`)
    const hold = { id: newId('hld', clock.now()), playerId, amount, holder: this.#holder, ...options }
    const attempt = () =>
      db.groupCommit(async (statements) => {
        if (!(await ledger.hold(statements, hold))) {
          await this.#welcome(statements, playerId)
          if (!(await ledger.hold(statements, hold))) return plain(await ledger.read(statements, playerId))
        }
        await also?.(statements)
        return null
      })
    let short = await attempt()
    // Holds of a dead process must not block this one until the next sweep.
    if (short && short.held > 0 && (await this.#releaseExpiredOf(playerId))) short = await attempt()
    if (short) {
      const body = { balance: short.available, required: amount }
      throw new InsufficientCredits(amount, short.available).with({ body })
    }
    return hold.id
  }

  /**
   * Charges the actual price of a hold and releases the rest, in one transaction.
   *
   * @param amount 0 to the held amount
   * @param options `also` makes further writes in the same transaction, and receives the new balance
   * @returns the new balance
   * @throws HoldGone when it was settled or released before, or has expired; nothing is charged then
   */
  async settle(
    holdId: string,
    amount: number,
    options: { description: string; also?: (statements: Statements, balance: Balance) => Promise<void> },
  ): Promise<Balance> {
    const { db, clock } = this.#parts
    return db.groupCommit(async (statements) => {
      const charge = { holdId, amount, description: options.description }
      const balance = await ledger.settleHold(statements, charge, clock.now())
      if (!balance) throw new HoldGone()
      await options.also?.(statements, balance)
      return balance
    })
  }

  /** Releases a whole hold. @returns whether it was still open */
  async release(holdId: string): Promise<boolean> {
    return this.#parts.db.groupCommit((statements) => ledger.endHold(statements, holdId))
  }

  /**
   * Adds credits, or with a negative amount removes them.
   *
   * @param options `by`: the acting member of staff; `key` names the cause: a second grant with the same key changes nothing
   * @returns the new balance
   * @throws InsufficientCredits when more would be removed than is available
   */
  async grant(
    playerId: string,
    amount: number,
    { by, ...options }: { kind: EntryKind; description: string; key: string; by?: Actor },
  ): Promise<Balance> {
    const { db, clock } = this.#parts
    return db.groupCommit(async (statements) => {
      await ledger.open(statements, playerId)
      const { available } = await ledger.lock(statements, playerId)
      if (available + amount < 0)
        throw new InsufficientCredits(-amount, available).with({ body: { balance: available, required: -amount } })
      await ledger.enter(statements, { playerId, amount, ...options }, clock.now())
      const balance = plain(await ledger.read(statements, playerId))
      // A repeated request grants once and is audited once.
      if (by && balance.available !== available) {
        await recordAction(statements, clock, {
          by,
          action: 'credits.grant',
          target: { kind: 'player', id: playerId },
          reason: options.description,
          before: { available },
          after: { available: balance.available },
        })
      }
      return balance
    })
  }

  /** Lists a player's entries, newest first. */
  async ledger(
    playerId: string,
    { limit = 20, cursor }: Partial<PageQuery> = {},
  ): Promise<{ entries: LedgerEntry[]; nextCursor: string | null }> {
    const before = mustBeCursor('led', cursor)
    const rows = await this.#parts.db.query<EntryRow>(
      `select id, amount, kind, description, created_at from credit_ledger
       where player_id = ?${before ? ' and id < ?' : ''} order by id desc limit ?`,
      [playerId, ...(before ? [before] : []), limit + 1] satisfies Parameter[],
    )
    const { page, nextCursor } = cutPage(rows, limit)
    const entries = page.map(({ created_at, ...entry }) => ({
      ...entry,
      createdAt: new Date(created_at).toISOString(),
    }))
    return { entries, nextCursor }
  }

  /** Anonymises the ledger of a player in the transaction that ends the account. */
  async forget(em: SqlEntityManager, playerId: string): Promise<void> {
    const execute = (sql: string, parameters: string[]) => em.execute(sql, parameters, 'run')
    await ledger.part(execute, playerId, newId('end', this.#parts.clock.now()))
  }

  /** Releases all holds of a process that is dead or stops. @returns the number of holds */
  async releaseHeldBy(holder: string): Promise<number> {
    const { db } = this.#parts
    const held = await db.query<{ id: string }>('select id from credit_holds where holder = ?', [holder])
    for (const { id } of held) await db.groupCommit((statements) => ledger.endHold(statements, id))
    return held.length
  }

  /** Releases expired holds of dead processes. It is called every few seconds. */
  async releaseExpired(): Promise<void> {
    const { db, clock, log } = this.#parts
    const expired = await db.query<{ id: string }>('select id from credit_holds where expires_at < ? limit ?', [
      clock.now(),
      SWEEP,
    ])
    await this.#endExpired(expired)
    if (expired.length > 0) log.warn({ holds: expired.length }, 'released credits that dead processes had reserved')
  }

  async #welcome(statements: Statements, playerId: string): Promise<void> {
    if (!(await ledger.claimSignUpCredits(statements, playerId)) || this.#signUpCredits === 0) return
    const entry = { playerId, amount: this.#signUpCredits, kind: 'signup', key: `signup/${playerId}` } as const
    await ledger.enter(statements, { ...entry, description: 'Welcome' }, this.#parts.clock.now())
  }

  async #releaseExpiredOf(playerId: string): Promise<boolean> {
    const { db, clock } = this.#parts
    const expired = await db.query<{ id: string }>(
      'select id from credit_holds where player_id = ? and expires_at < ? limit ?',
      [playerId, clock.now(), SWEEP],
    )
    await this.#endExpired(expired)
    return expired.length > 0
  }

  async #endExpired(holds: { id: string }[]): Promise<void> {
    const { db, clock } = this.#parts
    const now = clock.now()
    for (const { id } of holds) await db.groupCommit((statements) => ledger.endHold(statements, id, now))
  }
}

interface EntryRow extends Omit<LedgerEntry, 'createdAt'> {
  created_at: number
}

const plain = (account: Balance | null): Balance =>
  account ? { balance: account.balance, held: account.held, available: account.available } : ledger.EMPTY
