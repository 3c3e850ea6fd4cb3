import type { Pack, Payments } from '../../drivers/payments/interface.ts'

/** A pack with its price in words: `€5.00`. */
export type PricedPack = Pack & { priceText: string }

/** Adds the prices as the payment processor charges them. */
export const pricedPacks = ({ packs, decimals }: Pick<Payments, 'packs' | 'decimals'>): PricedPack[] =>
  packs.map((pack) => ({ ...pack, priceText: priceOf(pack, decimals(pack.currency)) }))

function priceOf({ price, currency }: Pack, digits: number): string {
  const format = { style: 'currency', currency, minimumFractionDigits: digits, maximumFractionDigits: digits } as const
  return new Intl.NumberFormat('en', format).format(price / 10 ** digits)
}
