import Type from 'typebox'
import { NotFound } from '../../core/errors.ts'
import { callerOf } from '../../core/http/auth.ts'
import type { Routes } from '../../core/http/routes.ts'
import { Checkout, NewCheckout, PackList, PurchaseState } from './schemas.ts'

const constraints = { origin: 'portal' } as const
/** An event has a whole purchase in it. The signature is checked before it is parsed. */
const EVENT_BYTES = 262_144

export const routes: Routes = async (app) => {
  app.get(
    '/api/payments/packs',
    {
      config: { auth: 'none' },
      constraints,
      schema: { summary: 'The credit packs that are sold', tags: ['credits'], response: { 200: PackList } },
    },
    async () => ({ packs: [...app.purchases.packs] }),
  )

  app.post(
    '/api/payments/checkout',
    {
      config: { auth: 'session' },
      constraints,
      // No request can be right without payments, whatever its body.
      onRequest: async () => app.purchases.mustBeConfigured(),
      schema: {
        summary: 'Begin to buy a pack; the answer has the address of the checkout',
        tags: ['credits'],
        body: NewCheckout,
        response: { 200: Checkout },
      },
    },
    async (request) => app.purchases.begin(callerOf(request).playerId, request.body.packId),
  )

  app.get(
    '/api/payments/purchases/:purchaseId',
    {
      config: { auth: 'session' },
      constraints,
      schema: {
        summary: 'Whether a purchase of yours is paid yet',
        tags: ['credits'],
        params: Type.Object({ purchaseId: Type.String({ maxLength: 30 }) }),
        response: { 200: PurchaseState },
      },
    },
    async (request, reply) => {
      const purchase = await app.purchases.find(callerOf(request).playerId, request.params.purchaseId)
      if (!purchase) throw new NotFound('purchase')
      reply.header('cache-control', 'no-store')
      return purchase
    },
  )

  await app.register(webhook)
}

/** The separate scope keeps the body as bytes, because the signature covers them. */
const webhook: Routes = async (app) => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

  app.post(
    '/api/payments/webhook',
    {
      // The signature is the credential. A processor has few addresses and sometimes many events.
      config: { auth: 'none', rateLimit: false },
      constraints,
      bodyLimit: EVENT_BYTES,
      schema: {
        summary: 'Webhook of the payment processor',
        description:
          'The header `payment-signature` or `stripe-signature` has the signature. The server handles each event once.',
        tags: ['credits'],
        takes: { type: 'object', description: 'The event, in the form of the processor.' },
        response: { 200: Type.Object({ received: Type.Literal(true) }) },
      },
    },
    async (request) => {
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
      const event = await app.payments.receive(body, request.headers)
      if (event) await app.purchases.receive(event)
      return { received: true } as const
    },
  )
}
