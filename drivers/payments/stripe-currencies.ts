/** Currencies without a smaller unit, as https://docs.stripe.com/currencies lists them. */
const WITHOUT_DECIMALS = new Set('bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' '))
const WITH_THREE_DECIMALS = new Set('bhd jod kwd omr tnd'.split(' '))
/** Currencies that lost their smaller unit. Stripe still counts it, and charges only whole units. */
const WHOLE_UNITS_ONLY = new Set(['isk', 'ugx'])

/**
 * Returns the number of decimals of Stripe's amounts in a currency, 0 to 3. It is Stripe's own list: ISO 4217 and Intl
 * differ from it for HUF, ISK, IDR and more, and Intl changes with each version of ICU.
 *
 * @param currency ISO 4217, in lower case
 */
export const decimalsOf = (currency: string): number =>
  WITHOUT_DECIMALS.has(currency) ? 0 : WITH_THREE_DECIMALS.has(currency) ? 3 : 2

/** Returns the number that Stripe requires each charged amount in a currency to be a multiple of. */
export const amountStep = (currency: string): number =>
  WHOLE_UNITS_ONLY.has(currency) ? 100 : WITH_THREE_DECIMALS.has(currency) ? 10 : 1
