import Type, { type Static } from 'typebox'
import Value from 'typebox/value'
import type { PaymentEvent } from './interface.ts'

const Text = Type.String({ minLength: 1, maxLength: 255 })
const Amount = Type.Integer({ minimum: 0 })
const Seconds = Type.Integer({ minimum: 0 })
const Currency = Type.String({ pattern: '^[a-z]{3}$' })
const IdOrObject = Type.Union([Text, Type.Object({ id: Text })])
const OrNull = <T extends Type.TSchema>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]))

/** The events that the webhook needs. */
export const WEBHOOK_EVENTS = [
  'checkout.session.completed',
  'checkout.session.async_payment_succeeded',
  'charge.refunded',
  'refund.created',
  'refund.updated',
  'refund.failed',
  'charge.dispute.created',
  'charge.dispute.updated',
  'charge.dispute.closed',
  'charge.dispute.funds_withdrawn',
  'charge.dispute.funds_reinstated',
]

/** What every event has. `created` is in seconds of Unix time. */
const Envelope = Type.Object({ id: Text, type: Text, created: Type.Optional(Seconds) })
type Envelope = Static<typeof Envelope>

const data = <T extends Type.TSchema>(object: T) => Type.Object({ data: Type.Object({ object }) })

const Session = data(
  Type.Object({
    id: Text,
    payment_status: Text,
    client_reference_id: OrNull(Text),
    metadata: OrNull(Type.Object({ purchase: OrNull(Text) })),
    payment_intent: OrNull(IdOrObject),
    /** Before discounts and taxes. */
    amount_subtotal: OrNull(Amount),
    amount_total: Amount,
    currency: Currency,
  }),
)

const Charge = data(Type.Object({ payment_intent: OrNull(IdOrObject), amount: Amount, amount_refunded: Amount }))

/** What refunds and disputes share. */
const REVERSAL = {
  id: Text,
  payment_intent: OrNull(IdOrObject),
  amount: Amount,
  currency: Currency,
  created: Seconds,
}

const Refund = data(Type.Object({ ...REVERSAL, status: OrNull(Text) }))

const Dispute = data(
  Type.Object({
    ...REVERSAL,
    status: Text,
    balance_transactions: Type.Optional(Type.Array(Type.Object({ amount: Type.Integer() }))),
  }),
)
type Dispute = Static<typeof Dispute>['data']['object']

/** Events about payments, by the beginning of their type. Another one may change money. */
const ABOUT_PAYMENTS = /^(charge|refund|checkout\.session|payment_intent)\./
/** Events about payments that report no change of money, or the same change as an event that is read. */
const WITHOUT_CHANGE = new Set([
  'charge.captured',
  'charge.expired',
  'charge.failed',
  'charge.pending',
  'charge.succeeded',
  'charge.updated',
  'checkout.session.async_payment_failed',
  'checkout.session.expired',
  'payment_intent.amount_capturable_updated',
  'payment_intent.canceled',
  'payment_intent.created',
  'payment_intent.payment_failed',
  'payment_intent.processing',
  'payment_intent.requires_action',
  'payment_intent.succeeded',
])

/**
 * Extracts what an event of Stripe says about money.
 *
 * @param event verified and parsed
 * @returns null for an event that changes no purchase; `unknown` for one that may, and whose meaning is not known
 */
export function eventOf(event: unknown): PaymentEvent | null {
  if (!Value.Check(Envelope, event)) return null
  const { id, type } = event
  if (!ABOUT_PAYMENTS.test(type) || WITHOUT_CHANGE.has(type)) return null
  const read = READERS.find(({ types }) => types.test(type))
  const found = read?.read(event)
  return found === undefined ? { kind: 'unknown', id, type } : found
}

/**
 * Reads the events of some types. `read` returns undefined for an event whose shape is not the expected one, and null
 * for one without a payment intent, which every purchase of the platform has.
 */
const READERS: { types: RegExp; read(event: Envelope): PaymentEvent | null | undefined }[] = [
  { types: /^checkout\.session\.(completed|async_payment_succeeded)$/, read: readSession },
  { types: /^charge\.refunded$/, read: readCharge },
  { types: /^(refund|charge\.refund)\.(created|updated|failed)$/, read: readRefund },
  { types: /^charge\.dispute\.(created|updated|closed|funds_withdrawn|funds_reinstated)$/, read: readDispute },
]

function readSession(event: Envelope): PaymentEvent | null | undefined {
  if (!Value.Check(Session, event)) return undefined
  const { object: session } = event.data
  const { payment_status, client_reference_id, metadata, payment_intent, amount_subtotal, amount_total } = session
  // An unpaid session is reported again when the payment arrives. A discount of 100 % leaves nothing to pay.
  if (payment_status !== 'paid' && payment_status !== 'no_payment_required')
    return payment_status === 'unpaid' ? null : undefined
  // The buyer may choose the reference of a payment link. The metadata is from the platform alone.
  const isOurs = client_reference_id && metadata?.purchase === client_reference_id
  const payment = payment_intent ?? (amount_total === 0 ? session.id : null)
  if (payment === null) return isOurs ? undefined : null
  return {
    kind: 'paid',
    id: event.id,
    purchaseId: isOurs ? client_reference_id : null,
    paymentId: idOf(payment),
    price: amount_subtotal ?? amount_total,
    amount: amount_total,
    currency: session.currency,
  }
}

function readCharge(event: Envelope): PaymentEvent | null | undefined {
  if (!Value.Check(Charge, event)) return undefined
  const { payment_intent, amount, amount_refunded } = event.data.object
  if (!payment_intent) return null
  const paymentId = idOf(payment_intent)
  return { kind: 'refunded', id: event.id, paymentId, refunded: amount_refunded, amount, at: event.created ?? 0 }
}

/** A refund takes its amount from the host at once, and returns it if it fails or is cancelled, days later. */
function readRefund(event: Envelope): PaymentEvent | null | undefined {
  if (!Value.Check(Refund, event)) return undefined
  const { id, payment_intent, amount, currency, created, status } = event.data.object
  if (!payment_intent) return null
  const hasFailed = status === 'failed' || status === 'canceled'
  return {
    kind: 'reversed',
    id: event.id,
    paymentId: idOf(payment_intent),
    reversal: { id, kind: 'refund', amount, currency, withheld: hasFailed ? 0 : amount, sequence: hasFailed ? 1 : 0 },
    madeAt: created,
    at: event.created ?? created,
  }
}

/**
 * A dispute withdraws money, and may reinstate it. An inquiry does neither. Each such step adds a balance transaction to
 * the dispute, so their number orders the events, which arrive in any order.
 */
function readDispute(event: Envelope): PaymentEvent | null | undefined {
  if (!Value.Check(Dispute, event)) return undefined
  const { object: dispute } = event.data
  const { id, payment_intent, amount, currency, created } = dispute
  if (!payment_intent) return null
  const moves = (dispute.balance_transactions ?? []).map((move) => move.amount).filter((move) => move !== 0)
  const steps = Math.max(moves.length, stepsOf(event.type, dispute))
  return {
    kind: 'reversed',
    id: event.id,
    paymentId: idOf(payment_intent),
    reversal: {
      id,
      kind: 'dispute',
      amount,
      currency,
      withheld: Math.round(amount * (moves.length === steps ? withheldShare(moves) : steps % 2)),
      // At the same step, an event that lists the transactions knows more than one that does not.
      sequence: 2 * steps + (moves.length === steps ? 1 : 0),
    },
    madeAt: created,
    at: event.created ?? created,
  }
}

/** Returns the number of movements of money that the event itself tells. */
function stepsOf(type: string, { status }: Dispute): number {
  if (type === 'charge.dispute.funds_reinstated' || status === 'won') return 2
  return type === 'charge.dispute.funds_withdrawn' || status === 'lost' ? 1 : 0
}

/**
 * Returns the withheld share of the disputed amount, 0 to 1. The transactions are in the currency of the host's balance,
 * which may differ from the buyer's.
 */
function withheldShare(moves: number[]): number {
  const net = moves.reduce((sum, move) => sum + move, 0)
  return net < 0 ? Math.min(1, net / Math.min(...moves)) : 0
}

const idOf = (value: string | { id: string }) => (typeof value === 'string' ? value : value.id)
