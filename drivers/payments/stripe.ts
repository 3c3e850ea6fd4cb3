import type Stripe from 'stripe'
import Type from 'typebox'
import { Secret } from '../../core/config.ts'
import { defineDriver } from '../../core/driver.ts'
import { StartupError } from '../../core/errors.ts'
import { BadSignature, type Pack, type Payments, PaymentsUnavailable, paymentsConfig } from './interface.ts'
import { amountStep, decimalsOf } from './stripe-currencies.ts'
import { eventOf, WEBHOOK_EVENTS } from './stripe-events.ts'

/** Maximum age of a signature in seconds; an older one may be a replay. */
const TOLERANCE = 300

/** Stripe Checkout. The webhook's address is `<portal>/api/payments/webhook`. */
export default defineDriver({
  family: 'payments',
  name: 'stripe',
  config: Type.Object(
    {
      secretKey: Secret({ description: 'Secret or restricted key (sk_…, rk_…).', minLength: 8 }),
      webhookSecret: Secret({
        description:
          'Signing secret (whsec_…) of the webhook for checkout.session.completed, checkout.session.async_payment_succeeded, charge.refunded, refund.*, and charge.dispute.*; see docs/selling-credits.md.',
        minLength: 8,
      }),
      apiBase: Type.String({
        default: 'https://api.stripe.com',
        pattern: '^https?://[^/?#@\\s]+$',
        description: 'Where the API is.',
      }),
      promotionCodes: Type.Boolean({
        default: false,
        description: 'Buyers may enter promotion codes of your Stripe account.',
      }),
      automaticTax: Type.Boolean({
        default: false,
        description: 'Stripe Tax adds the tax, by the settings of your Stripe account.',
      }),
      ...paymentsConfig,
    },
    { additionalProperties: false },
  ),

  check({ packs }) {
    checkPrices(packs)
  },

  async create(
    { secretKey, webhookSecret, apiBase, promotionCodes, automaticTax, packs },
    { clock, log },
  ): Promise<Payments> {
    checkPrices(packs)
    let client: Promise<Stripe> | undefined
    const stripe = () => {
      client ??= connect(secretKey, apiBase)
      return client
    }

    return {
      packs,
      decimals: decimalsOf,

      async checkout({ id, pack, successUrl, cancelUrl }) {
        try {
          const { checkout } = await stripe()
          const session = await checkout.sessions.create(
            {
              mode: 'payment',
              client_reference_id: id,
              metadata: { purchase: id },
              payment_intent_data: { metadata: { purchase: id } },
              line_items: [
                {
                  quantity: 1,
                  price_data: {
                    currency: pack.currency,
                    unit_amount: pack.price,
                    product_data: { name: `${pack.credits} credits` },
                  },
                },
              ],
              allow_promotion_codes: promotionCodes,
              automatic_tax: { enabled: automaticTax },
              success_url: successUrl,
              cancel_url: cancelUrl,
            },
            { idempotencyKey: id },
          )
          if (!session.url) throw new Error('The session has no address.')
          return { url: session.url }
        } catch (error) {
          const { type, code, statusCode } = error as { type?: string; code?: string; statusCode?: number }
          log.error({ type, reason: code, status: statusCode }, 'the payment processor refused to create a checkout')
          throw new PaymentsUnavailable()
        }
      },

      async receive(body, headers) {
        const signature = headers['payment-signature'] ?? headers['stripe-signature']
        if (typeof signature !== 'string') throw new BadSignature()
        const { webhooks } = await stripe()
        let event: unknown
        try {
          const now = clock.now().getTime()
          event = webhooks.constructEvent(body, signature, webhookSecret, TOLERANCE, undefined, now)
        } catch {
          throw new BadSignature()
        }
        return eventOf(event)
      },

      async examine(webhookUrl) {
        const testMode = /^[a-z]+_test_/.test(secretKey)
        try {
          const { webhookEndpoints } = await stripe()
          const { data } = await webhookEndpoints.list({ limit: 100 })
          const endpoint = data.find(({ url }) => url === webhookUrl)
          if (!endpoint) return { testMode, webhook: null }
          const chosen = endpoint.enabled_events
          const missing = WEBHOOK_EVENTS.filter((event) => !chosen.includes(event) && !chosen.includes('*'))
          return { testMode, webhook: { enabled: endpoint.status === 'enabled', missing } }
        } catch (error) {
          const { type, statusCode } = error as { type?: string; statusCode?: number }
          if (type === 'StripePermissionError') return { testMode, webhook: 'unknown' }
          if (type === 'StripeAuthenticationError') throw new Error('Stripe refuses the key')
          throw new Error(`Stripe does not answer${statusCode === undefined ? '' : ` (${statusCode})`}`)
        }
      },

      async close() {},
    }
  },
})

/** @throws StartupError for a price that Stripe does not charge in its currency */
function checkPrices(packs: Pack[]): void {
  for (const { id, price, currency } of packs) {
    const step = amountStep(currency)
    if (price % step !== 0)
      throw new StartupError(
        `payments.packs: Stripe charges ${currency.toUpperCase()} only in multiples of ${step}, and the price of ${id} is ${price}.`,
      )
  }
}

/** Loads the library on demand, since loading is slow and most installations never use it. */
async function connect(secretKey: string, apiBase: string): Promise<Stripe> {
  const { Stripe } = await import('stripe')
  const { protocol, hostname, port } = new URL(apiBase)
  return new Stripe(secretKey, {
    protocol: protocol === 'http:' ? 'http' : 'https',
    host: hostname,
    port: port || (protocol === 'http:' ? 80 : 443),
    maxNetworkRetries: 2,
    timeout: 15_000,
    telemetry: false,
  })
}
