import t from 'tap'
import { testPaymentsDriver } from '../../../drivers/payments/conformance.ts'
import stripe from '../../../drivers/payments/stripe.ts'
import { captureLog, driverContext } from '../../kit/driver-context.ts'
import { completed, refunded, SECRET_KEY, sign, startStripe, stripeConfig } from '../../kit/stripe.ts'

const server = await startStripe(t)
const { log, lines } = captureLog()

for (const header of ['payment-signature', 'stripe-signature'])
  testPaymentsDriver({
    name: `stripe, ${header}`,
    create: async () => {
      const { driver: _driver, ...config } = stripeConfig(server.url)
      return stripe.create(config, driverContext({ log }))
    },
    processor: {
      asked() {
        const asked = server.checkouts.at(-1)
        return asked
          ? {
              purchaseId: asked.client_reference_id ?? '',
              amount: Number(asked['line_items[0][price_data][unit_amount]']),
              currency: asked['line_items[0][price_data][currency]'] ?? '',
              successUrl: asked.success_url ?? '',
              cancelUrl: asked.cancel_url ?? '',
            }
          : null
      },
      fail: (failing) => {
        server.failing = failing
      },
    },
    paid: completed,
    refunded,
    other: (id) => JSON.stringify({ id, object: 'event', type: 'customer.created', data: { object: {} } }),
    sign: (body, options) => ({ [header]: sign(body, new Date(), options) }),
  })

t.test('the log never has the key', async (t) => {
  t.ok(lines().length > 0)
  t.notMatch(JSON.stringify(lines()), new RegExp(SECRET_KEY))
})
