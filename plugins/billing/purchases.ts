import type { FastifyInstance } from 'fastify'
import type { Statements } from '../../core/data/database.ts'
import { InvalidRequest } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import type { PaymentEvent } from '../../drivers/payments/interface.ts'
import { BillingNotConfigured } from './errors.ts'
import * as ledger from './ledger.ts'
import { type PricedPack, pricedPacks } from './price.ts'
import { readReversals, withheldOf } from './reversals.ts'

/** The batch size of retries of refunds that found too few credits. */
const COLLECTED = 200
/** The time for which the overview of the host shows an event that was not understood. */
const PROBLEM_SHOWN_MS = 30 * 86_400_000

/**
 * Purchases of credits. Events of the payment processor may arrive twice, concurrently, on several nodes and in any
 * order. Each is processed once, in the transaction that changes the
 * credits, and the result does not depend on the order.
 */
export class Purchases {
  readonly #parts: Pick<FastifyInstance, 'db' | 'clock' | 'log' | 'payments' | 'credits' | 'origins'>

  constructor(parts: Pick<FastifyInstance, 'db' | 'clock' | 'log' | 'payments' | 'credits' | 'origins'>) {
    this.#parts = parts
    this.packs = pricedPacks(parts.payments)
  }

  /** The packs for sale, with their prices in words. */
  readonly packs: readonly PricedPack[]

  /** @throws BillingNotConfigured when nothing is for sale */
  mustBeConfigured(): void {
    if (this.packs.length === 0) throw new BillingNotConfigured()
  }

  /**
   * Begins a purchase.
   *
   * @returns the address of the processor's page
   * @throws BillingNotConfigured, InvalidRequest for a pack that is not sold, PaymentsUnavailable
   */
  async begin(playerId: string, packId: string): Promise<{ url: string }> {
    const { db, clock, payments, origins } = this.#parts
    this.mustBeConfigured()
    const pack = this.packs.find(({ id }) => id === packId)
    if (!pack) {
      const message = `must be one of ${this.packs.map(({ id }) => id).join(', ')}`
      throw new InvalidRequest(`packId ${message}.`).with({ details: [{ path: 'packId', message }] })
    }
    const now = clock.now()
    const id = newId('pur', now)
    await db.groupCommit(({ execute }) =>
      execute(
        `insert into credit_purchases (id, player_id, pack_id, credits, price, currency, created_at)
         values (?, ?, ?, ?, ?, ?, ?)`,
        [id, playerId, pack.id, pack.credits, pack.price, pack.currency, now],
      ),
    )
    const page = `${origins.portal}/credits`
    return payments.checkout({ id, pack, successUrl: `${page}?purchase=${id}`, cancelUrl: `${page}?cancelled=1` })
  }

  /** Returns a player's purchase; null when there is none of this id. */
  async find(playerId: string, id: string): Promise<{ credits: number; paid: boolean } | null> {
    const [row] = await this.#parts.db.query<{ credits: number; paid_at: number | null }>(
      'select credits, paid_at from credit_purchases where id = ? and player_id = ?',
      [id, playerId],
    )
    return row ? { credits: row.credits, paid: row.paid_at !== null } : null
  }

  /** Processes an event of the processor once. */
  async receive(event: PaymentEvent): Promise<void> {
    const { db, clock, log } = this.#parts
    const outcome = await db.groupCommit(async (statements): Promise<Outcome> => {
      const fresh = await statements.execute(
        'insert into credit_payment_events (id, received_at) values (?, ?) on conflict do nothing',
        [event.id, clock.now()],
      )
      if (fresh === 0) return { is: 'told before' }
      const outcome = await this.#apply(statements, event)
      if (outcome.problem)
        await statements.execute('update credit_payment_events set problem = ? where id = ?', [
          outcome.problem.slice(0, 200),
          event.id,
        ])
      return outcome
    })
    const { is, problem, playerId } = outcome
    const what = event.kind === 'unknown' ? event.type : event.kind
    if (problem)
      log.error({ event: event.id, kind: what, outcome: is, problem }, 'an event about money changed no credits')
    else log.info({ event: event.id, kind: what, outcome: is }, 'received an event of the payment processor')
    // New credits fill the debts of the account first. After a crash in between, the next run of the job does it.
    if (playerId) await this.collect(playerId)
  }

  /**
   * Takes back credits that reversals could not take yet.
   *
   * @param playerId whose debts; all players' by default
   */
  async collect(playerId?: string): Promise<void> {
    const { db } = this.#parts
    // Players without credits are left out, since a batch of them would keep the others from being collected.
    const owing = await db.query<{ id: string }>(
      `select p.id from credit_payments p
       join credit_purchases b on b.id = p.purchase_id
       join credit_accounts a on a.player_id = b.player_id
       where p.owed > 0 and a.balance > a.held ${playerId === undefined ? '' : 'and b.player_id = ?'} limit ?`,
      [...(playerId === undefined ? [] : [playerId]), COLLECTED],
    )
    for (const { id } of owing)
      await db.groupCommit(async (statements) => {
        await this.#follow(statements, await lockPayment(statements, id))
      })
  }

  /** Returns the credits that a player owes, since payments were refunded or disputed after their credits were spent. */
  async debtOf(playerId: string): Promise<number> {
    const [row] = await this.#parts.db.query<{ owed: number | string | null }>(
      `select sum(p.owed) as owed from credit_payments p join credit_purchases b on b.id = p.purchase_id
       where b.player_id = ? and p.owed > 0`,
      [playerId],
    )
    return Number(row?.owed ?? 0)
  }

  /** Returns a player's credits and debt, and the last 20 entries of the ledger. The first call grants the sign-up credits. */
  async statementOf(playerId: string) {
    const { credits } = this.#parts
    const { available: balance } = await credits.balance(playerId)
    const debt = await this.debtOf(playerId)
    const { entries: ledger } = await credits.ledger(playerId, { limit: 20 })
    return { balance, debt, ledger }
  }

  /** Lists the players who owe credits, the largest debts first. */
  async debts(limit: number): Promise<{ playerId: string; owed: number }[]> {
    const rows = await this.#parts.db.query<{ player_id: string; owed: number | string }>(
      `select b.player_id, sum(p.owed) as owed from credit_payments p
       join credit_purchases b on b.id = p.purchase_id where p.owed > 0
       group by b.player_id order by sum(p.owed) desc limit ?`,
      [limit],
    )
    return rows.map(({ player_id, owed }) => ({ playerId: player_id, owed: Number(owed) }))
  }

  /** Returns the number of events of the last 30 days that may have changed money and changed no credits, and the latest. */
  async problems(): Promise<{ count: number; latest: { id: string; problem: string } | null }> {
    const { db, clock } = this.#parts
    const rows = await db.query<{ id: string; problem: string }>(
      `select id, problem from credit_payment_events where problem is not null and received_at > ?
       order by received_at desc, id desc limit 100`,
      [new Date(clock.now().getTime() - PROBLEM_SHOWN_MS)],
    )
    return { count: rows.length, latest: rows[0] ?? null }
  }

  async #apply(statements: Statements, event: PaymentEvent): Promise<Outcome> {
    if (event.kind === 'paid') return this.#complete(statements, event)
    if (event.kind === 'refunded') return this.#refund(statements, event)
    if (event.kind === 'reversed') return this.#reverse(statements, event)
    return { is: 'unknown', problem: `Nothing is known about events of the type ${event.type}, or of this shape.` }
  }

  async #complete(statements: Statements, event: PaymentEvent & { kind: 'paid' }): Promise<Outcome> {
    const { purchaseId, paymentId, price, amount, currency } = event
    if (purchaseId === null) return { is: 'not ours' }
    const purchase = await readPurchase(statements, purchaseId)
    if (!purchase) return { is: 'not ours', problem: `There is no purchase ${purchaseId} here.` }
    if (purchase.price !== price || purchase.currency !== currency.toLowerCase()) {
      const problem = `${purchase.id} was sold for ${purchase.price} ${purchase.currency}, and paid for ${price} ${currency}.`
      return { is: 'price differs', problem }
    }
    const now = this.#parts.clock.now()
    await lockPayment(statements, paymentId)
    // A purchase is paid once, whatever the number of events.
    const sql = 'update credit_purchases set paid_at = ? where id = ? and paid_at is null'
    if ((await statements.execute(sql, [now, purchase.id])) === 0) return { is: 'paid before' }
    await statements.execute('update credit_payments set purchase_id = ?, amount = ? where id = ?', [
      purchase.id,
      amount,
      paymentId,
    ])
    const { player_id: playerId, credits } = purchase
    await ledger.open(statements, playerId)
    const entry = { playerId, amount: credits, kind: 'purchase', key: `purchase/${purchase.id}` } as const
    await ledger.enter(statements, { ...entry, description: `${credits} credits bought` }, now)
    await this.#follow(statements, await lockPayment(statements, paymentId))
    return { is: 'credited', playerId }
  }

  async #refund(statements: Statements, event: PaymentEvent & { kind: 'refunded' }): Promise<Outcome> {
    const { paymentId, refunded, amount, at } = event
    const before = await lockPayment(statements, paymentId)
    // If events arrive out of order, an earlier sum does not replace a later one. Of one second, the larger is later.
    const known = before.refunded_at ?? 0
    if (at < known || (at === known && refunded <= before.refunded)) return { is: 'older than known' }
    await statements.execute('update credit_payments set refunded = ?, refunded_at = ?, amount = ? where id = ?', [
      refunded,
      at,
      amount,
      paymentId,
    ])
    return this.#follow(statements, { ...before, refunded, refunded_at: at, amount })
  }

  async #reverse(statements: Statements, event: PaymentEvent & { kind: 'reversed' }): Promise<Outcome> {
    const { paymentId, reversal, madeAt, at } = event
    const payment = await lockPayment(statements, paymentId)
    const { id, kind, amount, currency, withheld, sequence } = reversal
    const changed = await statements.execute(
      `insert into credit_reversals (id, payment_id, kind, amount, currency, withheld, sequence, made_at, changed_at)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?)
       on conflict (id) do update set amount = excluded.amount, withheld = excluded.withheld,
         sequence = excluded.sequence, changed_at = excluded.changed_at
       where excluded.sequence > credit_reversals.sequence
         or (excluded.sequence = credit_reversals.sequence and excluded.changed_at < credit_reversals.changed_at)`,
      [id, paymentId, kind, amount, currency, withheld, sequence, madeAt, at],
    )
    return changed === 0 ? { is: 'older than known' } : this.#follow(statements, payment)
  }

  /**
   * Lets the credits of a purchase follow its money: takes back the part that was refunded or disputed, as far as the
   * player has it, and owes the rest; or returns what was taken for a reversal that failed or was lost by the buyer.
   */
  async #follow(statements: Statements, payment: PaymentRow): Promise<Outcome> {
    const purchase = payment.purchase_id === null ? null : await readPurchase(statements, payment.purchase_id)
    if (!purchase) return { is: 'before its payment' }
    const { player_id: playerId } = purchase
    // Payments of an earlier version have no amount.
    const paid = { amount: payment.amount || purchase.price, currency: purchase.currency }
    const { withheld, disputed } = withheldOf(await readReversals(statements, payment.id), payment, paid)
    const due = Math.floor((purchase.credits * withheld) / paid.amount) - payment.taken
    const { available } = due > 0 ? await ledger.lock(statements, playerId) : ledger.EMPTY
    const amount = Math.min(due, available)
    const taken = payment.taken + amount
    if (amount !== 0) {
      const now = this.#parts.clock.now()
      const entry = {
        playerId,
        amount: -amount,
        kind: 'refund',
        key: `refund/${purchase.id}/${newId('led', now)}`,
      } as const
      const how = amount < 0 ? 'valid again' : disputed ? 'disputed' : 'refunded'
      await ledger.enter(statements, { ...entry, description: `Payment of ${purchase.credits} credits ${how}` }, now)
    }
    if (amount !== 0 || due - amount !== payment.owed)
      await statements.execute('update credit_payments set taken = ?, owed = ? where id = ?', [
        taken,
        due - amount,
        payment.id,
      ])
    if (amount < 0) return { is: 'given back', playerId }
    return { is: amount > 0 ? 'taken back' : due > 0 ? 'owed' : 'unchanged' }
  }
}

/** What an event did. */
interface Outcome {
  is: string
  /** Why it changed no credits, although it may have changed money. */
  problem?: string
  /** The player who got credits. */
  playerId?: string
}

interface PaymentRow {
  id: string
  purchase_id: string | null
  refunded: number
  refunded_at: number | null
  amount: number
  taken: number
  owed: number
}

/** Locks a payment until the transaction ends, and creates it if it is new. */
async function lockPayment(statements: Statements, id: string): Promise<PaymentRow> {
  await statements.execute(
    'insert into credit_payments (id, refunded, amount, taken, owed) values (?, 0, 0, 0, 0) on conflict do nothing',
    [id],
  )
  await statements.execute('update credit_payments set taken = taken where id = ?', [id])
  const sql = 'select id, purchase_id, refunded, refunded_at, amount, taken, owed from credit_payments where id = ?'
  const [row] = await statements.query<PaymentRow>(sql, [id])
  if (!row) throw new Error(`The payment ${id} has gone.`)
  return row
}

async function readPurchase(statements: Statements, id: string) {
  const [row] = await statements.query<{
    id: string
    player_id: string
    credits: number
    price: number
    currency: string
  }>('select id, player_id, credits, price, currency from credit_purchases where id = ?', [id])
  return row ?? null
}
