import { defineEntity, p } from '@mikro-orm/core'
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
    /** Whether the sign-up credits were given. */
    welcomed: p.boolean(),
  },
  // Whatever a program above gets wrong: nobody spends what is not there.
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
    /** What it is for: the same is never entered twice. */
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
    /** By then its process has settled or released it, or died. */
    expiresAt: p.datetime(3).index(),
  },
  checks: [{ name: 'credit_holds_amount_check', expression: 'amount > 0' }],
})
export class CreditHold extends CreditHoldSchema.class {}
CreditHoldSchema.setClass(CreditHold)
