import type Stripe from 'stripe'
import Type from 'typebox'
import Value from 'typebox/value'
import { Secret } from '../../core/config.ts'
import { defineDriver } from '../../core/driver.ts'
import { StartupError } from '../../core/errors.ts'
import { BadSignature, type PaymentEvent, type Payments, PaymentsUnavailable, paymentsConfig } from './interface.ts'
import { amountStep, decimalsOf } from './stripe-currencies.ts'

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
          'Signing secret (whsec_…) of the webhook that tells checkout.session.completed, checkout.session.async_payment_succeeded and charge.refunded.',
        minLength: 8,
      }),
      apiBase: Type.String({
        default: 'https://api.stripe.com',
        pattern: '^https?://[^/?#@\\s]+$',
        description: 'Where the API is.',
      }),
      ...paymentsConfig,
    },
    { additionalProperties: false },
  ),

  async create({ secretKey, webhookSecret, apiBase, packs }, { clock, log }): Promise<Payments> {
    let client: Promise<Stripe> | undefined
    const stripe = () => {
      client ??= connect(secretKey, apiBase)
      return client
    }

    for (const { id, price, currency } of packs) {
      const step = amountStep(currency)
      if (price % step !== 0)
        throw new StartupError(
          `payments.packs: Stripe charges ${currency.toUpperCase()} only in multiples of ${step}, and the price of ${id} is ${price}.`,
        )
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

      async close() {},
    }
  },
})

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

const Text = Type.String({ minLength: 1, maxLength: 255 })
const Amount = Type.Integer({ minimum: 0 })
const IdOrObject = Type.Union([Text, Type.Object({ id: Text })])

const Paid = Type.Object({
  id: Text,
  type: Type.Union([
    Type.Literal('checkout.session.completed'),
    Type.Literal('checkout.session.async_payment_succeeded'),
  ]),
  data: Type.Object({
    object: Type.Object({
      payment_status: Type.Literal('paid'),
      client_reference_id: Type.Optional(Type.Union([Text, Type.Null()])),
      payment_intent: IdOrObject,
      amount_total: Amount,
      currency: Text,
    }),
  }),
})

const Refunded = Type.Object({
  id: Text,
  type: Type.Literal('charge.refunded'),
  data: Type.Object({ object: Type.Object({ payment_intent: IdOrObject, amount: Amount, amount_refunded: Amount }) }),
})

/** Extracts the relevant content of an event. An unpaid session is reported again once it is paid. */
function eventOf(event: unknown): PaymentEvent | null {
  const idOf = (value: string | { id: string }) => (typeof value === 'string' ? value : value.id)
  if (Value.Check(Paid, event)) {
    const { client_reference_id, payment_intent, amount_total, currency } = event.data.object
    return {
      kind: 'paid',
      id: event.id,
      purchaseId: client_reference_id ?? null,
      paymentId: idOf(payment_intent),
      amount: amount_total,
      currency,
    }
  }
  if (Value.Check(Refunded, event)) {
    const { payment_intent, amount, amount_refunded } = event.data.object
    return { kind: 'refunded', id: event.id, paymentId: idOf(payment_intent), refunded: amount_refunded, amount }
  }
  return null
}
