import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

export const WEBHOOK_SECRET = 'whsec_test_0123456789abcdef'
export const SECRET_KEY = 'sk_test_0123456789abcdef'
export const PACK = { id: 'small', credits: 500, price: 500, currency: 'eur' }

/** Serves the part of Stripe's API that creates checkouts and lists webhooks, over HTTP. */
export async function startStripe(t: Pick<Test, 'teardown'>) {
  const stripe = {
    url: '',
    checkouts: [] as Record<string, string>[],
    failing: false,
    webhooks: [] as object[],
    mayRead: true,
  }
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    if (request.headers.authorization === `Bearer ${SECRET_KEY}` && request.url?.startsWith('/v1/webhook_endpoints')) {
      const refusal = { error: { type: 'invalid_request_error', message: 'This key lacks rak_webhook_read.' } }
      response.writeHead(stripe.mayRead ? 200 : 403, { 'content-type': 'application/json' })
      return response.end(JSON.stringify(stripe.mayRead ? { object: 'list', data: stripe.webhooks } : refusal))
    }
    const authorised = request.headers.authorization === `Bearer ${SECRET_KEY}`
    if (stripe.failing || !authorised || request.url !== '/v1/checkout/sessions') {
      const error = { type: 'invalid_request_error', message: `No such thing, ${SECRET_KEY}` }
      response.writeHead(authorised ? 400 : 401, { 'content-type': 'application/json' })
      return response.end(JSON.stringify({ error }))
    }
    stripe.checkouts.push(Object.fromEntries(new URLSearchParams(text)))
    const id = `cs_test_${stripe.checkouts.length}`
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ id, object: 'checkout.session', url: `${stripe.url}/pay/${id}` }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  stripe.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return stripe
}

/** Returns the configuration section `payments` for this server. */
export const stripeConfig = (apiBase = 'http://127.0.0.1:9') => ({
  driver: 'stripe',
  secretKey: SECRET_KEY,
  webhookSecret: WEBHOOK_SECRET,
  apiBase,
  promotionCodes: false,
  automaticTax: false,
  packs: [PACK, { id: 'large', credits: 2500, price: 2000, currency: 'eur' }],
})

export const completed = (event: {
  id: string
  purchaseId: string | null
  paymentId: string | null
  /** The paid amount. */
  amount?: number
  /** The price before discounts and taxes. */
  subtotal?: number
  currency?: string
  status?: string
  /** The purchase in the metadata, which only the platform can set. */
  metadata?: string | null
}): string =>
  JSON.stringify({
    id: event.id,
    object: 'event',
    type: 'checkout.session.completed',
    data: {
      object: {
        id: 'cs_test_1',
        object: 'checkout.session',
        payment_status: event.status ?? 'paid',
        client_reference_id: event.purchaseId,
        metadata: { purchase: event.metadata === undefined ? event.purchaseId : event.metadata },
        payment_intent: event.paymentId,
        amount_subtotal: event.subtotal ?? event.amount ?? PACK.price,
        amount_total: event.amount ?? PACK.price,
        currency: event.currency ?? PACK.currency,
      },
    },
  })

export const refunded = (event: {
  id: string
  paymentId: string
  refunded: number
  amount?: number
  at?: number
}): string =>
  JSON.stringify({
    id: event.id,
    created: event.at,
    object: 'event',
    type: 'charge.refunded',
    data: {
      object: {
        id: 'ch_1',
        object: 'charge',
        payment_intent: event.paymentId,
        amount: event.amount ?? PACK.price,
        amount_refunded: event.refunded,
      },
    },
  })

/** A refund or its change, which the event `refund.updated` reports. Times are in seconds. */
export const refundOf = (event: {
  id: string
  type?: string
  paymentId: string
  refundId: string
  amount: number
  status: string
  madeAt?: number
  at?: number
}): string =>
  JSON.stringify({
    id: event.id,
    object: 'event',
    type: event.type ?? 'refund.updated',
    created: event.at ?? 1000,
    data: {
      object: {
        id: event.refundId,
        object: 'refund',
        payment_intent: event.paymentId,
        charge: 'ch_1',
        amount: event.amount,
        currency: PACK.currency,
        created: event.madeAt ?? 1000,
        status: event.status,
      },
    },
  })

/** An event `charge.dispute.<type>`. */
export const disputeOf = (event: {
  id: string
  type: string
  paymentId: string
  disputeId?: string
  status: string
  amount?: number
  currency?: string
  /** The movements of money so far: negative when withdrawn. */
  moves?: number[]
}): string =>
  JSON.stringify({
    id: event.id,
    object: 'event',
    type: `charge.dispute.${event.type}`,
    created: 2000,
    data: {
      object: {
        id: event.disputeId ?? 'dp_1',
        object: 'dispute',
        payment_intent: event.paymentId,
        charge: 'ch_1',
        amount: event.amount ?? PACK.price,
        currency: event.currency ?? PACK.currency,
        created: 1500,
        status: event.status,
        balance_transactions: event.moves?.map((amount, index) => ({ id: `txn_${index}`, amount, fee: 1500 })),
      },
    },
  })

/** Signs as Stripe does, with HMAC-SHA256 over time and body. */
export function sign(body: string, at: Date, { secret = WEBHOOK_SECRET, ageSeconds = 0 } = {}): string {
  const time = Math.floor(at.getTime() / 1000) - ageSeconds
  return `t=${time},v1=${createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')}`
}
