import Type, { type Static } from 'typebox'
import { Section } from '../../core/config.ts'

/** The plugin's part of the configuration: `plugins.billing`. */
export const BillingConfig = Section(
  {
    signUpCredits: Type.Integer({
      default: 100,
      minimum: 0,
      maximum: 1_000_000,
      description:
        'Credits that each player gets once, with the first request for the balance or the first generation.',
    }),
  },
  { description: 'The credit ledger.', default: {} },
)
export type BillingConfig = Static<typeof BillingConfig>

export const EntryKind = Type.Union([
  Type.Literal('signup'),
  Type.Literal('purchase'),
  Type.Literal('generation'),
  Type.Literal('refund'),
  Type.Literal('grant'),
  Type.Literal('adjustment'),
])
export type EntryKind = Static<typeof EntryKind>

export const LedgerEntry = Type.Object(
  {
    id: Type.String(),
    amount: Type.Integer({ description: 'Positive for credits that come in, negative for credits that go out.' }),
    kind: EntryKind,
    description: Type.String(),
    createdAt: Type.String({ format: 'date-time' }),
  },
  { title: 'LedgerEntry' },
)
export type LedgerEntry = Static<typeof LedgerEntry>

/** The credits of an account, in whole numbers. */
export interface Balance {
  /** The sum of the ledger. */
  balance: number
  /** The credits that are reserved by open holds. */
  held: number
  /** The available credits, which API responses call the balance. */
  available: number
}

export const PackList = Type.Object({
  packs: Type.Array(
    Type.Object({
      id: Type.String(),
      credits: Type.Integer(),
      price: Type.Integer({ description: 'In the smallest unit of the currency: 500 are 5.00 EUR.' }),
      currency: Type.String(),
      priceText: Type.String({ description: 'The price in words, with the decimals of the payment processor: €5.00.' }),
    }),
  ),
})

export const NewCheckout = Type.Object({ packId: Type.String({ minLength: 1, maxLength: 40 }) })
export const Checkout = Type.Object({ url: Type.String({ description: 'Where the pack is paid.' }) })
export const PurchaseState = Type.Object({ credits: Type.Integer(), paid: Type.Boolean() })
