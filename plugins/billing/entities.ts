import { defineEntity, p } from '@mikro-orm/core'
import type { Reversal } from '../../drivers/payments/interface.ts'
import type { EntryKind } from './schemas.ts'

const CreditAccountSchema = defineEntity({
  name: 'CreditAccount',
  tableName: 'credit_accounts',
  properties: {
    playerId: p.string().length(30).primary(),
    /** The sum of the account's ledger entries. */
    balance: p.bigint('number'),
    /** The sum of its open holds. */
    held: p.bigint('number'),
    /** Whether the sign-up credits were granted. */
    welcomed: p.boolean(),
  },
  // Even with a bug in the code, nobody can spend more than the balance.
  checks: [
    { name: 'credit_accounts_balance_check', expression: 'balance >= 0' },
    { name: 'credit_accounts_held_check', expression: 'held >= 0 and held <= balance' },
  ],
})
export class CreditAccount extends CreditAccountSchema.class {}
CreditAccountSchema.setClass(CreditAccount)

const CreditEntrySchema = defineEntity({
  name: 'CreditEntry',
  tableName: 'credit_ledger',
  properties: {
    id: p.string().length(30).primary(),
    playerId: p.string().length(30),
    amount: p.bigint('number'),
    kind: p.string().length(10).$type<EntryKind>(),
    description: p.string().length(200),
    /** The unique reference of the entry. */
    key: p.string().length(200).unique(),
    createdAt: p.datetime(3),
  },
  indexes: [{ properties: ['playerId', 'id'] }],
})
export class CreditEntry extends CreditEntrySchema.class {}
CreditEntrySchema.setClass(CreditEntry)

const CreditHoldSchema = defineEntity({
  name: 'CreditHold',
  tableName: 'credit_holds',
  properties: {
    id: p.string().length(30).primary(),
    playerId: p.string().length(30).index(),
    amount: p.bigint('number'),
    key: p.string().length(200).unique(),
    /** The time by which its process has settled or released it, or has died. */
    expiresAt: p.datetime(3).index(),
    /** The process that created the hold (holders.ts); null for rows of an earlier version. */
    holder: p.string().length(30).nullable().index(),
  },
  checks: [{ name: 'credit_holds_amount_check', expression: 'amount > 0' }],
})
export class CreditHold extends CreditHoldSchema.class {}
CreditHoldSchema.setClass(CreditHold)

const CreditPurchaseSchema = defineEntity({
  name: 'CreditPurchase',
  tableName: 'credit_purchases',
  properties: {
    id: p.string().length(30).primary(),
    playerId: p.string().length(30).index(),
    packId: p.string().length(40),
    credits: p.integer(),
    /** The price, in the smallest unit of the currency. */
    price: p.integer(),
    currency: p.string().length(3),
    paidAt: p.datetime(3).nullable(),
    createdAt: p.datetime(3),
  },
})
/** A purchase that a player began, with the price at that time. */
export class CreditPurchase extends CreditPurchaseSchema.class {}
CreditPurchaseSchema.setClass(CreditPurchase)

const CreditPaymentSchema = defineEntity({
  name: 'CreditPayment',
  tableName: 'credit_payments',
  properties: {
    /** The processor's id. */
    id: p.string().length(255).primary(),
    /** Null while only its refund is known. */
    purchaseId: p.string().length(30).nullable(),
    /** The refunded part of `amount`, as the latest event about the whole payment reported it. */
    refunded: p.bigint('number'),
    /** The time of that event, in seconds of Unix time; null for none, and for rows of an earlier version. */
    refundedAt: p.bigint('number').nullable(),
    /** The paid amount, in the smallest unit of the currency. */
    amount: p.bigint('number'),
    /** The credits that were taken back so far. */
    taken: p.integer(),
    /** The credits to take back as soon as the player has them. */
    owed: p.integer().index(),
  },
})
/** A payment. It connects the completion and the refunds, which may be reported in any order. */
export class CreditPayment extends CreditPaymentSchema.class {}
CreditPaymentSchema.setClass(CreditPayment)

const ReversalSchema = defineEntity({
  name: 'CreditReversal',
  tableName: 'credit_reversals',
  properties: {
    /** The processor's id of the refund or dispute. */
    id: p.string().length(255).primary(),
    paymentId: p.string().length(255).index(),
    kind: p.string().length(10).$type<Reversal['kind']>(),
    amount: p.bigint('number'),
    currency: p.string().length(3),
    /** The part of `amount` that the host does not have. */
    withheld: p.bigint('number'),
    /** A higher number is a later state. */
    sequence: p.integer(),
    /** The times of its beginning and of this state, in seconds of Unix time. */
    madeAt: p.bigint('number'),
    changedAt: p.bigint('number'),
  },
})
/** A refund or dispute of a payment, in its latest known state. */
export class CreditReversal extends ReversalSchema.class {}
ReversalSchema.setClass(CreditReversal)

const PaymentEventSchema = defineEntity({
  name: 'PaymentEventRow',
  tableName: 'credit_payment_events',
  properties: {
    id: p.string().length(255).primary(),
    receivedAt: p.datetime(3),
    /** Why the event changed no credits although it may have changed money; null for all others. */
    problem: p.string().length(200).nullable().index(),
  },
})
/** A processed event of the payment processor, which is never processed again. */
export class PaymentEventRow extends PaymentEventSchema.class {}
PaymentEventSchema.setClass(PaymentEventRow)
