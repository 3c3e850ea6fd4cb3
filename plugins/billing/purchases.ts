import type { FastifyInstance } from 'fastify'
import type { Statements } from '../../core/data/database.ts'
import { InvalidRequest } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import type { PaymentEvent } from '../../drivers/payments/interface.ts'
import { BillingNotConfigured } from './errors.ts'
import * as ledger from './ledger.ts'
import { type PricedPack, pricedPacks } from './price.ts'

/** The batch size of retries of refunds that found too few credits. */
const COLLECTED = 200

/**
 * Purchases of credits. Events of the payment processor may arrive twice, concurrently, on several nodes and in any
 * order. Each is processed once, in the transaction that adds its credits.
 */
export class Purchases {
  readonly #parts: Pick<FastifyInstance, 'db' | 'clock' | 'log' | 'payments' | 'origins'>

  constructor(parts: Pick<FastifyInstance, 'db' | 'clock' | 'log' | 'payments' | 'origins'>) {
    this.#parts = parts
    this.packs = pricedPacks(parts.payments)
  }

  /** The packs for sale, with their prices in words. */
  readonly packs: readonly PricedPack[]

  /**
   * Begins a purchase.
   *
   * @returns the address of the processor's page
   * @throws BillingNotConfigured, InvalidRequest for a pack that is not sold, PaymentsUnavailable
   */
  async begin(playerId: string, packId: string): Promise<{ url: string }> {
    const { db, clock, payments, origins } = this.#parts
    if (this.packs.length === 0) throw new BillingNotConfigured()
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
    const outcome = await db.groupCommit(async (statements) => {
      const fresh = await statements.execute(
        'insert into credit_payment_events (id, received_at) values (?, ?) on conflict do nothing',
        [event.id, clock.now()],
      )
      if (fresh === 0) return 'told before'
      return event.kind === 'paid' ? this.#complete(statements, event) : this.#refund(statements, event)
    })
    const level = outcome === 'price differs' || outcome === 'not ours' ? 'error' : 'info'
    log[level]({ event: event.id, kind: event.kind, outcome }, 'received an event of the payment processor')
  }

  /** Takes back credits that refunds could not take yet. It is called every minute. */
  async collect(): Promise<void> {
    const { db } = this.#parts
    // Players without credits are left out, since a batch of them would keep the others from being collected.
    const owing = await db.query<{ id: string }>(
      `select p.id from credit_payments p
       join credit_purchases b on b.id = p.purchase_id
       join credit_accounts a on a.player_id = b.player_id
       where p.owed > 0 and a.balance > a.held limit ?`,
      [COLLECTED],
    )
    for (const { id } of owing)
      await db.groupCommit(async (statements) => {
        await this.#takeBack(statements, await lockPayment(statements, id))
      })
  }

  async #complete(statements: Statements, event: PaymentEvent & { kind: 'paid' }): Promise<string> {
    const { purchaseId, paymentId, amount, currency } = event
    const purchase = purchaseId === null ? null : await readPurchase(statements, purchaseId)
    if (!purchase) return 'not ours'
    if (purchase.price !== amount || purchase.currency !== currency.toLowerCase()) return 'price differs'
    const now = this.#parts.clock.now()
    await lockPayment(statements, paymentId)
    // A purchase is paid once, whatever the number of events.
    const sql = 'update credit_purchases set paid_at = ? where id = ? and paid_at is null'
    if ((await statements.execute(sql, [now, purchase.id])) === 0) return 'paid before'
    await statements.execute('update credit_payments set purchase_id = ? where id = ?', [purchase.id, paymentId])
    const { player_id: playerId, credits } = purchase
    await ledger.open(statements, playerId)
    const entry = { playerId, amount: credits, kind: 'purchase', key: `purchase/${purchase.id}` } as const
    await ledger.enter(statements, { ...entry, description: `${credits} credits bought` }, now)
    await this.#takeBack(statements, await lockPayment(statements, paymentId))
    return 'credited'
  }

  async #refund(statements: Statements, event: PaymentEvent & { kind: 'refunded' }): Promise<string> {
    const { paymentId, refunded, amount } = event
    const before = await lockPayment(statements, paymentId)
    // If events arrive out of order, an earlier sum does not replace a later one.
    if (refunded <= before.refunded) return 'less than before'
    await statements.execute('update credit_payments set refunded = ?, amount = ? where id = ?', [
      refunded,
      amount,
      paymentId,
    ])
    await this.#takeBack(statements, { ...before, refunded, amount })
    return before.purchase_id === null ? 'before its payment' : 'taken back'
  }

  /** Takes back credits up to the refunded part, as far as the player has them. The rest is owed. */
  async #takeBack(statements: Statements, payment: PaymentRow): Promise<void> {
    const purchase = payment.purchase_id === null ? null : await readPurchase(statements, payment.purchase_id)
    if (!purchase || payment.amount === 0) return
    const target = Math.floor((purchase.credits * Math.min(payment.refunded, payment.amount)) / payment.amount)
    const due = target - payment.taken
    if (due <= 0) return
    const { player_id: playerId } = purchase
    const { available } = await ledger.lock(statements, playerId)
    const amount = Math.min(due, available)
    const taken = payment.taken + amount
    if (amount > 0) {
      const entry = { playerId, amount: -amount, kind: 'refund', key: `refund/${purchase.id}/${taken}` } as const
      const description = `Payment of ${purchase.credits} credits refunded`
      await ledger.enter(statements, { ...entry, description }, this.#parts.clock.now())
    }
    await statements.execute('update credit_payments set taken = ?, owed = ? where id = ?', [
      taken,
      due - amount,
      payment.id,
    ])
  }
}

interface PaymentRow {
  id: string
  purchase_id: string | null
  refunded: number
  amount: number
  taken: number
}

/** Locks a payment until the transaction ends, and creates it if it is new. */
async function lockPayment(statements: Statements, id: string): Promise<PaymentRow> {
  await statements.execute(
    'insert into credit_payments (id, refunded, amount, taken, owed) values (?, 0, 0, 0, 0) on conflict do nothing',
    [id],
  )
  await statements.execute('update credit_payments set taken = taken where id = ?', [id])
  const sql = 'select id, purchase_id, refunded, amount, taken from credit_payments where id = ?'
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
