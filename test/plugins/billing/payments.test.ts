// Tests the purchase of credits: checkout, and a webhook that anybody on the internet may call.
import t from 'tap'
import { captureLog } from '../../kit/driver-context.ts'
import { amount } from '../../kit/extent.ts'
import { startPlatform } from '../../kit/platform.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'
import { completed, disputeOf, PACK, refunded, refundOf, sign, startStripe, stripeConfig } from '../../kit/stripe.ts'

const WELCOME = 100

async function inhabit(
  t: Parameters<typeof startPlatform>[0],
  config: Record<string, unknown> = {},
  payments: Record<string, unknown> = {},
) {
  const stripe = await startStripe(t)
  const { log, lines } = captureLog()
  const platform = await startPlatform(t, {
    config: { payments: { ...stripeConfig(stripe.url), ...payments }, ...config },
    log,
  })
  const buyer = await platform.signUp()
  const { credits } = platform.app
  await credits.balance(buyer.id)
  const send = (body: string, signature = sign(body, platform.clock.now()), header = 'payment-signature') =>
    platform.stranger.post('/api/payments/webhook', body, {
      headers: { 'content-type': 'application/json', [header]: signature, origin: undefined },
    })
  const buy = async () => {
    const { status } = await buyer.post('/api/payments/checkout', { packId: PACK.id })
    t.equal(status, 200)
    return stripe.checkouts.at(-1)?.client_reference_id ?? ''
  }
  const balance = async () => (await credits.balance(buyer.id)).available
  const kinds = async () => (await credits.ledger(buyer.id)).entries.map(({ kind, amount }) => [kind, amount])
  return { platform, stripe, buyer, send, buy, balance, kinds, lines }
}

t.test('a pack is bought: checkout, webhook, balance', async (t) => {
  const { platform, buyer, stripe, send, balance, kinds } = await inhabit(t)
  const packs = await platform.stranger.get('/api/payments/packs')
  t.match(packs, { status: 200, body: { packs: [PACK, { id: 'large' }] } })
  const checkout = await buyer.post('/api/payments/checkout', { packId: 'small' })
  t.match(checkout, { status: 200, body: { url: `${stripe.url}/pay/cs_test_1` } })
  const purchaseId = stripe.checkouts[0]?.client_reference_id ?? ''
  t.match(stripe.checkouts[0], { success_url: `${platform.portal}/credits?purchase=${purchaseId}` })
  const state = () => buyer.get(`/api/payments/purchases/${purchaseId}`)
  t.match(await state(), { status: 200, body: { credits: 500, paid: false } })
  const other = await platform.signUp()
  t.match(await other.get(`/api/payments/purchases/${purchaseId}`), { status: 404 })
  const answer = await send(completed({ id: 'evt_1', purchaseId, paymentId: 'pi_1' }), undefined, 'stripe-signature')
  t.match(answer, { status: 200, body: { received: true } })
  t.match(await state(), { body: { paid: true } })
  t.equal(await balance(), WELCOME + 500)
  t.same(await kinds(), [
    ['purchase', 500],
    ['signup', WELCOME],
  ])
})

t.test('the page of credits shows what Stripe charges, in currencies of which Intl thinks otherwise', async (t) => {
  const prices = {
    huf: [200_000, 'HUF 2,000.00'],
    idr: [5_000_000, 'IDR 50,000.00'],
    jpy: [500, '¥500'],
    kwd: [1500, 'KWD 1.500'],
  } as const
  const packs = Object.entries(prices).map(([currency, [price]]) => ({ id: currency, credits: 500, price, currency }))
  const platform = await startPlatform(t, { config: { payments: { ...stripeConfig(), packs } } })
  const { text } = await (await platform.signUp()).get('/credits')
  const { body } = await platform.stranger.get('/api/payments/packs')
  for (const [currency, [, shown]] of Object.entries(prices)) {
    t.ok(text.replaceAll('\u00a0', ' ').includes(`<p>${shown}</p>`), shown)
    t.match(body.packs.find(({ id }: { id: string }) => id === currency).priceText.replaceAll('\u00a0', ' '), shown)
  }
})

t.test('checkout takes a session and a pack that is sold', async (t) => {
  const { platform, buyer, stripe } = await inhabit(t)
  const program = await platform.program(buyer)
  t.match(await program.post('/api/payments/checkout', { packId: 'small' }), { status: 403 })
  t.match(await platform.stranger.post('/api/payments/checkout', { packId: 'small' }), { status: 401 })
  const foreign = { headers: { origin: 'https://evil.example' } }
  t.match(await buyer.post('/api/payments/checkout', { packId: 'small' }, foreign), { status: 403 })
  for (const body of [{}, { packId: '' }, { packId: 'gold' }, { packId: 5 }, { packId: 'small', credits: 9 }])
    t.match(await buyer.post('/api/payments/checkout', body), {
      status: 400,
      body: { error: { code: 'invalid_request' } },
    })
  stripe.failing = true
  const failed = await buyer.post('/api/payments/checkout', { packId: 'small' })
  t.match(failed, { status: 502, body: { error: { code: 'upstream_error' } } })
  t.notMatch(failed.text, /sk_test/)
})

t.test('where nothing is sold, it says so', async (t) => {
  const platform = await startPlatform(t)
  const buyer = await platform.signUp()
  const none = { status: 503, body: { error: { code: 'billing_not_configured' } } }
  t.match(await buyer.post('/api/payments/checkout', { packId: 'small' }), none)
  t.match(await platform.stranger.post('/api/payments/webhook', {}), { status: 400 })
  t.match(await platform.stranger.get('/api/payments/packs'), { status: 200, body: { packs: [] } })
})

t.test('what the processor did not sign changes nothing', async (t) => {
  const { platform, send, buy, balance } = await inhabit(t)
  const body = completed({ id: 'evt_1', purchaseId: await buy(), paymentId: 'pi_1' })
  const now = platform.clock.now()
  const table: [string, string, string][] = [
    ['wrong secret', body, sign(body, now, { secret: 'whsec_wrong' })],
    ['stale timestamp', body, sign(body, now, { ageSeconds: 301 })],
    ['edited body', body.replace('"paid"', '"paid" '), sign(body, now)],
    ['no signature', body, ''],
    ['no body', '', sign(body, now)],
  ]
  for (const [title, sent, signature] of table)
    t.match(await send(sent, signature), { status: 400, body: { error: { code: 'invalid_request' } } }, title)
  t.equal(await balance(), WELCOME)
})

t.test('what it signed and is not a sale of ours changes nothing', async (t) => {
  const { send, buy, balance, lines } = await inhabit(t)
  const purchaseId = await buy()
  const paymentId = 'pi_1'
  const events = [
    completed({ id: 'evt_1', purchaseId: 'pur_unheard_of', paymentId }),
    completed({ id: 'evt_2', purchaseId: null, paymentId }),
    completed({ id: 'evt_3', purchaseId, paymentId, currency: 'jpy' }),
    completed({ id: 'evt_4', purchaseId, paymentId, amount: 1 }),
    completed({ id: 'evt_5', purchaseId, paymentId, status: 'unpaid' }),
    completed({ id: 'evt_5b', purchaseId, paymentId, metadata: null }),
    JSON.stringify({ id: 'evt_6', object: 'event', type: 'checkout.session.completed', data: {} }),
    '[]',
    '{}',
  ]
  for (const event of events) t.match(await send(event), { status: 200 }, event.slice(0, 60))
  t.equal(await balance(), WELCOME)
  t.match(JSON.stringify(lines()), /price differs/)
  t.match(await send(completed({ id: 'evt_7', purchaseId, paymentId })), { status: 200 })
  t.equal(await balance(), WELCOME + 500, 'the real one still counts')
})

t.test('refunds take credits back: in part, twice, before the payment, and from who has spent them', async (t) => {
  const { platform, buyer, send, buy, balance, kinds } = await inhabit(t)
  const first = await buy()
  await send(refunded({ id: 'evt_r1', paymentId: 'pi_1', refunded: 100 }))
  t.equal(await balance(), WELCOME, 'a refund that comes first waits')
  await send(completed({ id: 'evt_1', purchaseId: first, paymentId: 'pi_1' }))
  t.equal(await balance(), WELCOME + 400)
  await send(refunded({ id: 'evt_r3', paymentId: 'pi_1', refunded: 300 }))
  await send(refunded({ id: 'evt_r2', paymentId: 'pi_1', refunded: 200 }))
  t.equal(await balance(), WELCOME + 200, 'an earlier sum that comes later undoes nothing')
  await platform.app.credits.grant(buyer.id, -250, { kind: 'adjustment', description: 'spent', key: 'spent' })
  await send(refunded({ id: 'evt_r4', paymentId: 'pi_1', refunded: 500 }))
  t.equal(await balance(), 0, 'no more than there is')
  await platform.app.credits.grant(buyer.id, 1000, { kind: 'grant', description: 'gift', key: 'gift' })
  await platform.app.purchases.collect()
  await platform.app.purchases.collect()
  t.equal(await balance(), 850, 'the rest as soon as there is some')
  t.same(
    (await kinds()).filter(([kind]) => kind === 'refund').map(([, amount]) => amount),
    [-150, -50, -200, -100],
  )
  await send(completed({ id: 'evt_9', purchaseId: await buy(), paymentId: 'pi_9' }))
  t.equal(await balance(), 1350)
})

/** All orders of a list. */
const ordersOf = <T>(list: T[]): T[][] =>
  list.length < 2
    ? [list]
    : list.flatMap((first, index) => ordersOf(list.toSpliced(index, 1)).map((rest) => [first, ...rest]))

t.test('credits follow the money of disputes and refunds both ways, once, in any order', async (t) => {
  const { send, buy, balance } = await inhabit(t)
  const paid = (purchaseId: string, paymentId: string) => completed({ id: `evt_${paymentId}`, purchaseId, paymentId })
  const dispute = (paymentId: string, type: string, status: string, moves?: number[]) =>
    disputeOf({
      id: `evt_${paymentId}_${type}`,
      disputeId: `dp_${paymentId}`,
      paymentId,
      type,
      status,
      ...(moves && { moves }),
    })
  const refund = (paymentId: string, status: string, at: number) =>
    refundOf({ id: `evt_${paymentId}_${status}`, refundId: `re_${paymentId}`, paymentId, amount: 200, status, at })
  const total = (paymentId: string, refunded_: number, at: number) =>
    refunded({ id: `evt_${paymentId}_${at}`, paymentId, refunded: refunded_, at })
  const stories: Record<string, { left: number; events(id: string): string[] }> = {
    'a lost dispute': {
      left: 0,
      events: (id) => [
        dispute(id, 'created', 'needs_response', [-550]),
        dispute(id, 'funds_withdrawn', 'needs_response', [-550]),
        dispute(id, 'closed', 'lost', [-550]),
      ],
    },
    'a dispute that the host wins': {
      left: 500,
      events: (id) => [
        dispute(id, 'funds_withdrawn', 'needs_response', [-550]),
        dispute(id, 'closed', 'won', [-550]),
        dispute(id, 'funds_reinstated', 'won', [-550, 550]),
      ],
    },
    'a dispute of which half is reinstated, without lists of transactions in the other events': {
      left: 250,
      events: (id) => [
        dispute(id, 'funds_withdrawn', 'needs_response'),
        dispute(id, 'closed', 'won'),
        dispute(id, 'funds_reinstated', 'won', [-550, 275]),
      ],
    },
    'an inquiry': {
      left: 500,
      events: (id) => [
        dispute(id, 'created', 'warning_needs_response', []),
        dispute(id, 'closed', 'warning_closed', []),
      ],
    },
    'a refund that fails later': {
      left: 500,
      events: (id) => [refund(id, 'pending', 1000), refund(id, 'failed', 3000), total(id, 200, 1001)],
    },
    'a refund that fails later, and is made again': {
      left: 300,
      events: (id) => [refund(id, 'failed', 3000), total(id, 200, 1001), total(id, 200, 4000)],
    },
    'a refund of which only the single events are chosen': {
      left: 300,
      events: (id) => [refund(id, 'pending', 1000), refund(id, 'succeeded', 2000)],
    },
    'a refund and a dispute of the rest': {
      left: 0,
      events: (id) => [
        refund(id, 'succeeded', 1000),
        total(id, 200, 1001),
        dispute(id, 'funds_withdrawn', 'lost', [-550]),
      ],
    },
  }
  let payments = 0
  for (const [name, { left, events }] of Object.entries(stories)) {
    const all = ordersOf([...events('0'), ''])
    // In the short form, the order of the story, its reverse and some between.
    const orders = all.filter((_, index) => index % Math.ceil((all.length - 1) / amount(3, 23)) === 0)
    for (const order of [...orders, all.at(-1) ?? []]) {
      const id = `pi_${++payments}`
      const before = await balance()
      const purchaseId = await buy()
      const bodies = new Map(events('0').map((body, index) => [body, events(id)[index] ?? '']))
      for (const body of order) await send(body === '' ? paid(purchaseId, id) : (bodies.get(body) ?? ''))
      for (const body of order.toReversed()) await send(body === '' ? paid(purchaseId, id) : (bodies.get(body) ?? ''))
      t.equal((await balance()) - before, left, `${name}: ${order.map((body) => body.slice(0, 60)).join(' ')}`)
    }
  }
})

t.test('a dispute in another currency takes its share', async (t) => {
  const { send, buy, balance } = await inhabit(t)
  await send(completed({ id: 'evt_1', purchaseId: await buy(), paymentId: 'pi_1' }))
  const dispute = { id: 'evt_2', type: 'funds_withdrawn', paymentId: 'pi_1', status: 'needs_response', moves: [-540] }
  await send(disputeOf({ ...dispute, amount: 590, currency: 'usd' }))
  t.equal(await balance(), WELCOME)
})

t.test('what cannot be taken back is a debt that player and host see, and the next purchase fills', async (t) => {
  const { platform, buyer, send, buy, balance } = await inhabit(t)
  const host = await platform.admin()
  const program = await platform.program(buyer, ['ai:generate'])
  await send(completed({ id: 'evt_1', purchaseId: await buy(), paymentId: 'pi_1' }))
  t.match((await program.get('/api/ai/credits')).body, { debt: 0 })
  await platform.app.credits.grant(buyer.id, -550, { kind: 'adjustment', description: 'spent', key: 'spent' })
  t.notMatch((await buyer.get('/credits')).text, /You owe/)
  t.notMatch((await host.get('/admin/credits')).text, /Debts/)
  const lost = { id: 'evt_2', type: 'funds_withdrawn', paymentId: 'pi_1', status: 'needs_response', moves: [-500] }
  await send(disputeOf(lost))
  t.equal(await balance(), 0)
  t.match((await buyer.get('/credits')).text, /You owe 450 credits/)
  t.match((await program.get('/api/ai/credits')).body, { balance: 0, debt: 450 }, 'and the API says')
  t.match((await host.get('/admin/credits')).text, new RegExp(`/admin/players/${buyer.id}.*450`, 's'))
  await send(completed({ id: 'evt_3', purchaseId: await buy(), paymentId: 'pi_2' }))
  t.equal(await balance(), 50, 'filled by the answer to the event')
  t.match((await program.get('/api/ai/credits')).body, { debt: 0 })
  t.notMatch((await buyer.get('/credits')).text, /You owe/)
  await send(disputeOf({ ...lost, id: 'evt_4', type: 'funds_reinstated', status: 'won', moves: [-500, 500] }))
  t.equal(await balance(), 550)
})

t.test('a purchase with a discount or tax grants its credits, and its refund takes them in proportion', async (t) => {
  const { stripe, send, buy, balance } = await inhabit(t, {}, { promotionCodes: true, automaticTax: true })
  let before = await balance()
  for (const [index, paidAmount] of [595, 250].entries()) {
    const paymentId = `pi_${index}`
    const sale = { id: `evt_${index}`, purchaseId: await buy(), paymentId, subtotal: 500, amount: paidAmount }
    await send(completed(sale))
    t.equal((await balance()) - before, 500, `${paidAmount} paid`)
    await send(refunded({ id: `evt_r${index}`, paymentId, refunded: paidAmount / 5, amount: paidAmount }))
    t.equal((await balance()) - before, 400, `a fifth of ${paidAmount} refunded`)
    before = await balance()
  }
  const free = { purchaseId: await buy(), paymentId: null, subtotal: 500, amount: 0, status: 'no_payment_required' }
  await send(completed({ id: 'evt_free', ...free }))
  t.equal((await balance()) - before, 500, 'a discount of everything')
  t.match(stripe.checkouts[0], { allow_promotion_codes: 'true', 'automatic_tax[enabled]': 'true' })
})

t.test('what may change money and is not understood is in the log and on the host’s overview', async (t) => {
  const { platform, send, buy, lines } = await inhabit(t)
  const host = await platform.admin()
  const overview = async () => (await host.get('/admin')).text
  const eventOf = (id: string, type: string, object: object) =>
    JSON.stringify({ id, object: 'event', type, data: { object } })
  await send(eventOf('evt_1', 'customer.created', {}))
  await send(eventOf('evt_2', 'charge.succeeded', {}))
  await send(
    eventOf('evt_3', 'charge.dispute.closed', {
      id: 'dp_1',
      payment_intent: null,
      amount: 1,
      currency: 'eur',
      created: 1,
      status: 'lost',
    }),
  )
  t.notMatch(await overview(), /changed no credits/)
  await send(eventOf('evt_4', 'charge.clawed_back', {}))
  t.match(await overview(), /A payment event changed no credits.*evt_4.*charge\.clawed_back/s)
  await send(eventOf('evt_5', 'charge.dispute.funds_withdrawn', { shape: 'new' }))
  await send(completed({ id: 'evt_6', purchaseId: await buy(), paymentId: 'pi_1', amount: 1 }))
  t.match(await overview(), /3 payment events changed no credits.*evt_6.*was sold for 500 eur/s)
  for (const id of ['evt_4', 'evt_5', 'evt_6'])
    t.ok(
      lines().some((line) => line.event === id && line.level === 'error'),
      `${id} is an error in the log`,
    )
  platform.clock.advance(31 * 86_400_000)
  t.notMatch(await overview(), /changed no credits/, 'for a month')
})

t.test('many who owe and have no credits do not keep others from being collected', async (t) => {
  const { platform, send, buy, balance, buyer } = await inhabit(t)
  const { credits, db, purchases } = platform.app
  await db.groupCommit(async (statements) => {
    for (let index = 0; index < 300; index++) {
      const player = `ply_poor${index}`
      await statements.execute(
        'insert into credit_accounts (player_id, balance, held, welcomed) values (?, ?, ?, ?)',
        index % 2 ? [player, 0, 0, true] : [player, 5, 5, true],
      )
      await statements.execute(
        `insert into credit_purchases (id, player_id, pack_id, credits, price, currency, created_at)
         values (?, ?, 'small', 500, 500, 'eur', ?)`,
        [`pur_poor${index}`, player, platform.clock.now()],
      )
      await statements.execute(
        'insert into credit_payments (id, purchase_id, refunded, amount, taken, owed) values (?, ?, 500, 500, 0, 500)',
        [`pi_poor${index}`, `pur_poor${index}`],
      )
    }
  })
  await send(completed({ id: 'evt_1', purchaseId: await buy(), paymentId: 'pi_z' }))
  await credits.grant(buyer.id, -600, { kind: 'adjustment', description: 'spent', key: 'spent' })
  await send(refunded({ id: 'evt_2', paymentId: 'pi_z', refunded: 500 }))
  await credits.grant(buyer.id, 600, { kind: 'grant', description: 'gift', key: 'gift' })
  await purchases.collect()
  t.equal(await balance(), 100)
})

for (const [name, database] of [
  ['SQLite', null],
  ['PostgreSQL', startPostgres],
] as const)
  t.test(
    `an event that is told a hundred times at once grants once, on ${name}`,
    database ? needsPostgres : {},
    async (t) => {
      const config = database && {
        secret: 'the same on every node, and long enough',
        database: { driver: 'postgres', url: await (await database()).database() },
      }
      const { send, buy, balance, kinds } = await inhabit(t, config ?? {})
      const purchaseId = await buy()
      const paid = completed({ id: 'evt_1', purchaseId, paymentId: 'pi_1' })
      const again = completed({ id: 'evt_1b', purchaseId, paymentId: 'pi_1' })
      const back = refunded({ id: 'evt_2', paymentId: 'pi_1', refunded: 250 })
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, index) => send([paid, again, back][index % 3] as string)),
      )
      t.ok(answers.every(({ status }) => status === 200))
      for (let more = 0; more < 5; more++) await send(paid)
      t.equal(await balance(), WELCOME + 250)
      t.same((await kinds()).toSorted(), [
        ['purchase', 500],
        ['refund', -250],
        ['signup', WELCOME],
      ])
    },
  )
