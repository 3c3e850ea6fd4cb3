import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { testPaymentsDriver } from '../../../drivers/payments/conformance.ts'
import stripe from '../../../drivers/payments/stripe.ts'
import { eventOf, WEBHOOK_EVENTS } from '../../../drivers/payments/stripe-events.ts'
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
    paid: ({ price, ...event }) => completed({ ...event, subtotal: price }),
    refunded,
    other: (id) => JSON.stringify({ id, object: 'event', type: 'customer.created', data: { object: {} } }),
    sign: (body, options) => ({ [header]: sign(body, new Date(), options) }),
  })

t.test('the decimals of Stripe’s amounts are its own list, whatever Intl says', async (t) => {
  const { driver: _driver, ...config } = stripeConfig(server.url)
  const { decimals } = await stripe.create(config, driverContext({ log }))
  const withOther = { 0: 'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf', 3: 'bhd jod kwd omr tnd' }
  const others = new Map(
    Object.entries(withOther).flatMap(([digits, names]) => names.split(' ').map((name) => [name, Number(digits)])),
  )
  const all = new Set([...Intl.supportedValuesOf('currency').map((name) => name.toLowerCase()), ...others.keys()])
  for (const currency of all) t.equal(decimals(currency), others.get(currency) ?? 2, currency)
})

t.test('a price that Stripe would refuse ends the start', async (t) => {
  const { driver: _driver, ...config } = stripeConfig(server.url)
  const start = (price: number, currency: string) =>
    stripe.create({ ...config, packs: [{ id: 'small', credits: 1, price, currency }] }, driverContext({ log }))
  for (const [price, currency] of [
    [150, 'isk'],
    [99_999, 'ugx'],
    [5125, 'kwd'],
  ] as const)
    await t.rejects(start(price, currency), { name: 'StartupError', message: /in multiples of/ }, currency)
  for (const [price, currency] of [
    [200, 'isk'],
    [5120, 'kwd'],
    [151, 'huf'],
    [151, 'jpy'],
  ] as const)
    await t.resolves(start(price, currency), currency)
})

t.test('the guide lists the events that the webhook needs', async (t) => {
  const guide = readFileSync(join(import.meta.dirname, '../../../docs/selling-credits.md'), 'utf8')
  const listed = [...guide.matchAll(/^\| `([a-z_.]+)` +\|/gm)].map(([, event]) => event)
  t.same(listed, WEBHOOK_EVENTS)
  for (const type of WEBHOOK_EVENTS)
    t.match(eventOf({ id: 'evt_1', type, data: {} }), { kind: 'unknown', type }, 'each has a shape that is checked')
})

t.test('the log never has the key', async (t) => {
  t.ok(lines().length > 0)
  t.notMatch(JSON.stringify(lines()), new RegExp(SECRET_KEY))
})
