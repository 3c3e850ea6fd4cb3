import type { IncomingHttpHeaders } from 'node:http'
import t from 'tap'
import { BadSignature, type Payments } from './interface.ts'

/** The parts of a driver that the suite needs. */
export interface PaymentsSubject {
  /** The driver's name, shown in the results. */
  name: string
  /** Creates a driver that sells the pack `small` and whose processor is the suite. */
  create(): Promise<Payments>
  /** Access to the last request to the processor, and a switch that makes the processor fail. */
  processor: {
    asked(): { purchaseId: string; amount: number; currency: string; successUrl: string; cancelUrl: string } | null
    fail(failing: boolean): void
  }
  /** Creates events in the format of the processor. */
  paid(event: {
    id: string
    purchaseId: string
    paymentId: string
    price: number
    amount: number
    currency: string
  }): string
  refunded(event: { id: string; paymentId: string; refunded: number; amount: number; at: number }): string
  /** Creates an event that the platform ignores. */
  other(id: string): string
  /** Returns the headers by which the processor signs a body. @param ageSeconds age of the signature */
  sign(body: string, options?: { secret?: string; ageSeconds?: number }): IncomingHttpHeaders
}

/** The contract of `Payments` as tests (for tap). */
export function testPaymentsDriver(subject: PaymentsSubject): void {
  const { name, create, processor, sign } = subject
  t.test(`payments driver ${name}`, async (t) => {
    const payments = await create()
    t.teardown(() => payments.close())
    const [pack] = payments.packs
    if (!pack) throw new Error('The suite needs a pack.')

    await t.test('a checkout is made for what is sold, and leads back', async (t) => {
      const successUrl = 'https://yard.example.org/credits?purchase=pur_1'
      const cancelUrl = 'https://yard.example.org/credits?cancelled=1'
      const { url } = await payments.checkout({ id: 'pur_1', pack, successUrl, cancelUrl })
      t.ok(URL.canParse(url))
      const { price: amount, currency } = pack
      t.match(processor.asked(), { purchaseId: 'pur_1', amount, currency, successUrl, cancelUrl })
    })

    await t.test('amounts have 0 to 3 decimals', async (t) => {
      for (const { currency } of payments.packs) t.ok([0, 1, 2, 3].includes(payments.decimals(currency)), currency)
    })

    await t.test('a processor that fails is unavailable, in our words', async (t) => {
      processor.fail(true)
      t.teardown(() => processor.fail(false))
      const purchase = { id: 'pur_2', pack, successUrl: 'https://a.example/', cancelUrl: 'https://b.example/' }
      const error = await payments.checkout(purchase).catch((error) => error)
      t.match(error, { code: 'upstream_error', statusCode: 502, message: /does not answer/ })
    })

    const paid = { id: 'evt_1', purchaseId: 'pur_1', paymentId: 'pi_1', price: 500, amount: 595, currency: 'eur' }
    const refunded = { id: 'evt_2', paymentId: 'pi_1', refunded: 100, amount: 595, at: 1_790_000_000 }

    await t.test('what the processor signed is read', async (t) => {
      const receive = (body: string) => payments.receive(Buffer.from(body), sign(body))
      t.same(await receive(subject.paid(paid)), { kind: 'paid', ...paid })
      t.same(await receive(subject.refunded(refunded)), { kind: 'refunded', ...refunded })
      t.equal(await receive(subject.other('evt_3')), null)
      t.equal(await receive('{}'), null, 'signed, but no event')
    })

    await t.test('what it did not sign, or long ago, is not', async (t) => {
      const body = subject.paid(paid)
      const refuses = (bytes: string, headers: IncomingHttpHeaders, title: string) =>
        t.rejects(payments.receive(Buffer.from(bytes), headers), { code: 'invalid_request', statusCode: 400 }, title)
      await refuses(body, {}, 'no signature')
      await refuses(body, sign(body, { secret: 'whsec_of_somebody_else' }), 'another secret')
      await refuses(body, sign(body, { ageSeconds: 301 }), 'too old')
      await refuses(`${body} `, sign(body), 'a byte more')
      await refuses(body.replace('595', '501'), sign(body), 'another amount')
      for (const value of ['', 'nonsense', 't=1', 'v1=00', 't=x,v1=00'])
        for (const header of Object.keys(sign(body))) await refuses(body, { [header]: value }, `${header}: ${value}`)
      await t.resolves(payments.receive(Buffer.from(body), sign(body, { ageSeconds: 290 })), 'not yet too old')
      t.ok(new BadSignature().message)
    })
  })
}
