// Tests the ledger with operations in any order, concurrently and over crashes: the balance is the sum of the ledger.
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { Credits } from '../../../plugins/billing/credits.ts'
import { Purchases } from '../../../plugins/billing/purchases.ts'
import { amount } from '../../kit/extent.ts'
import { startPlatform } from '../../kit/platform.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'
import { SEED } from '../../kit/seed.ts'
import { PACK, stripeConfig } from '../../kit/stripe.ts'

const RUNS = amount(6, 300)
const HOLD_MS = 60_000
const HOLDER = 'prc_00000000000000000000000000'

type Step =
  | { do: 'hold'; amount: number }
  | { do: 'settle'; pick: number; part: number }
  | { do: 'release'; pick: number }
  | { do: 'grant'; amount: number }
  | { do: 'look' }
  | { do: 'crash' }
  | { do: 'paid'; purchase: number }
  | { do: 'refunded'; purchase: number; part: number; at: number }
  | { do: 'disputed'; purchase: number; sequence: number }

/** What an event said about a payment. */
interface Sent {
  paymentId: string
  at?: number
  refunded?: number
  sequence?: number
  withheld?: number
}

const PRICE = { price: PACK.price, amount: PACK.price, currency: 'eur' } as const
const DISPUTED = 200

const nat = (max: number) => fc.integer({ min: 0, max })
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('hold' as const), amount: fc.integer({ min: 1, max: 90 }) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('settle' as const), pick: nat(20), part: nat(100) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('release' as const), pick: nat(20) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('grant' as const), amount: fc.integer({ min: -80, max: 80 }) }) },
  { weight: 1, arbitrary: fc.constant({ do: 'look' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'crash' as const }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('paid' as const), purchase: nat(2) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('refunded' as const), purchase: nat(2), part: nat(100), at: nat(5) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('disputed' as const), purchase: nat(2), sequence: nat(4) }) },
)
/** A history is a sequence of rounds of concurrent steps. */
const history = fc.array(fc.array(step, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 12 })

async function prove(t: Test, config: Record<string, unknown>): Promise<void> {
  const { app, clock } = await startPlatform(t, { config: { payments: stripeConfig(), ...config } })
  const { db } = app
  let players = 0
  let events = 0

  const replay = async (history: Step[][]) => {
    const playerId = `ply_${String(++players).padStart(26, '0')}`
    // A new process has the same database and no state in memory.
    let credits = new Credits(app, { signUpCredits: 100 }, HOLDER)
    let purchases = new Purchases(app)
    let holds: { id: string; amount: number }[] = []
    const sent: Sent[] = []
    const bought = [0, 1, 2].map((index) => ({ id: `pur_${players}_${index}`, paymentId: `pi_${players}_${index}` }))
    for (const { id } of bought)
      await db.execute(
        `insert into credit_purchases (id, player_id, pack_id, credits, price, currency, created_at)
         values (?, ?, 'small', 50, ?, 'eur', ?)`,
        [id, playerId, PACK.price, clock.now()],
      )

    const take = async (step: Step): Promise<void> => {
      if (step.do === 'hold') {
        const options = { key: `key/${++events}`, expiresAt: new Date(clock.now().getTime() + HOLD_MS) }
        const id = await credits.hold(playerId, step.amount, options)
        holds.push({ id, amount: step.amount })
      } else if (step.do === 'settle' || step.do === 'release') {
        // The hold stays in the list, because it may be settled and released twice, even concurrently.
        const hold = holds[step.pick % Math.max(1, holds.length)]
        if (!hold) return
        if (step.do === 'release') await credits.release(hold.id)
        else await credits.settle(hold.id, Math.floor((hold.amount * step.part) / 100), { description: 'test' })
      } else if (step.do === 'grant') {
        if (step.amount === 0) return
        await credits.grant(playerId, step.amount, { kind: 'adjustment', description: 'test', key: `g/${++events}` })
      } else if (step.do === 'look') {
        await credits.balance(playerId)
      } else if (step.do === 'paid') {
        const { id, paymentId } = bought[step.purchase] as (typeof bought)[0]
        const paid = { kind: 'paid', purchaseId: id, paymentId, ...PRICE } as const
        // This is either the same event again or another event with the same content.
        await purchases.receive({ ...paid, id: `evt/${paymentId}/${++events % 3}` })
      } else if (step.do === 'refunded') {
        const { paymentId } = bought[step.purchase] as (typeof bought)[0]
        const refunded = Math.floor((PACK.price * step.part) / 100)
        const { at } = step
        sent.push({ paymentId, at, refunded })
        await purchases.receive({
          kind: 'refunded',
          id: `evt/${++events}`,
          paymentId,
          refunded,
          amount: PACK.price,
          at,
        })
      } else if (step.do === 'disputed') {
        const { paymentId } = bought[step.purchase] as (typeof bought)[0]
        const { sequence } = step
        const withheld = (sequence % 2) * DISPUTED
        sent.push({ paymentId, sequence, withheld })
        const reversal = {
          id: `dp/${paymentId}`,
          kind: 'dispute',
          amount: DISPUTED,
          currency: 'eur',
          withheld,
          sequence,
        } as const
        await purchases.receive({
          kind: 'reversed',
          id: `evt/${++events}`,
          paymentId,
          reversal,
          madeAt: 0,
          at: sequence,
        })
      }
    }

    for (const round of history) {
      const results = await Promise.allSettled(round.map(take))
      for (const result of results)
        if (result.status === 'rejected' && !['insufficient_credits', 'conflict'].includes(result.reason.code))
          throw result.reason
      if (round.some((step) => step.do === 'crash')) {
        holds = []
        credits = new Credits(app, { signUpCredits: 100 }, HOLDER)
        purchases = new Purchases(app)
        clock.advance(HOLD_MS + 1)
        await credits.releaseExpired()
        await purchases.collect()
      }
      await check(playerId)
    }
    clock.advance(HOLD_MS + 1)
    await credits.releaseExpired()
    const { held } = await check(playerId)
    if (held !== 0) throw new Error(`${held} credits stay held for ever.`)
    await checkPayments(bought, sent)
  }

  const check = async (playerId: string) => {
    const [row] = await db.query<{ balance: number; held: number; sum: number; holds: number }>(
      `select coalesce(max(balance), 0) as balance, coalesce(max(held), 0) as held,
       (select coalesce(sum(amount), 0) from credit_ledger where player_id = ?) as sum,
       (select coalesce(sum(amount), 0) from credit_holds where player_id = ?) as holds
       from credit_accounts where player_id = ?`,
      [playerId, playerId, playerId],
    )
    const { balance = 0, held = 0, sum = 0, holds = 0 } = row ?? {}
    const said = JSON.stringify(row)
    if (balance !== sum) throw new Error(`The balance is not the sum of the ledger: ${said}`)
    if (held !== holds) throw new Error(`What is held is not the sum of the holds: ${said}`)
    if (balance - held < 0 || balance < 0) throw new Error(`More is spent than was there: ${said}`)
    return { held }
  }

  /** Checks that each purchase is granted once at most, and that the amount taken or owed is what the last states say. */
  const checkPayments = async (bought: { id: string; paymentId: string }[], sent: Sent[]) => {
    for (const { id, paymentId } of bought) {
      const [grants] = await db.query<{ count: number }>(
        'select count(*) as count from credit_ledger where "key" = ?',
        [`purchase/${id}`],
      )
      const [payment] = await db.query<{ purchase_id: string | null; refunded: number; taken: number; owed: number }>(
        'select purchase_id, refunded, taken, owed from credit_payments where id = ?',
        [paymentId],
      )
      if ((grants?.count ?? 0) > 1) throw new Error(`${id} was granted ${grants?.count} times.`)
      if (!payment?.purchase_id) continue
      const of = sent.filter((event) => event.paymentId === paymentId)
      const refunded = of
        .toSorted((a, b) => (a.at ?? -1) - (b.at ?? -1) || (a.refunded ?? 0) - (b.refunded ?? 0))
        .at(-1)
      const disputed = of.toSorted((a, b) => (a.sequence ?? -1) - (b.sequence ?? -1)).at(-1)
      const withheld = Math.min((refunded?.refunded ?? 0) + (disputed?.withheld ?? 0), PACK.price)
      const due = Math.floor((50 * withheld) / PACK.price)
      if (payment.taken + payment.owed !== due) throw new Error(`Of ${due}: ${JSON.stringify(payment)}`)
    }
  }

  await fc.assert(fc.asyncProperty(history, replay), { seed: SEED, numRuns: RUNS, interruptAfterTimeLimit: 120_000 })
  t.pass(`${RUNS} histories of ${players} players`)
}

t.test('random histories on SQLite', (t) => prove(t, {}))

t.test('random histories on PostgreSQL', needsPostgres, async (t) => {
  const database = { driver: 'postgres', url: await (await startPostgres()).database() }
  await prove(t, { database, secret: 'the same on every node, and long enough' })
})

t.test('the database itself refuses what no program should write', async (t) => {
  const { app } = await startPlatform(t)
  await app.credits.balance('ply_1')
  for (const sql of [
    'update credit_accounts set balance = -1',
    'update credit_accounts set held = 101',
    'update credit_accounts set held = -1',
    'insert into credit_ledger select \'led_2\', player_id, amount, kind, description, "key", created_at from credit_ledger',
  ])
    await t.rejects(app.db.execute(sql), /constraint/i, sql)
  t.same(await app.credits.balance('ply_1'), { balance: 100, held: 0, available: 100 })
})

t.test('a hold is settled once, for no more than was held', async (t) => {
  const { app, clock } = await startPlatform(t)
  const { credits } = app
  const expiresAt = new Date(clock.now().getTime() + 1000)
  const hold = await credits.hold('ply_1', 10, { key: 'a', expiresAt })
  await t.rejects(credits.hold('ply_1', 10, { key: 'a', expiresAt }), /constraint/i, 'a key is held once')
  await t.rejects(credits.settle(hold, 11, { description: 'test' }), /can't be charged/)
  t.same(await credits.balance('ply_1'), { balance: 100, held: 10, available: 90 }, 'and is still held')
  const settled = await Promise.allSettled(
    Array.from({ length: 50 }, () => credits.settle(hold, 4, { description: 'test' })),
  )
  t.equal(settled.filter(({ status }) => status === 'fulfilled').length, 1)
  t.same(await credits.balance('ply_1'), { balance: 96, held: 0, available: 96 })
  t.equal(await credits.release(hold), false)
  await t.rejects(
    credits.settle(hold, 1, {
      description: 'test',
      also: async () => {
        throw new Error('never')
      },
    }),
    { code: 'conflict' },
  )
  const all = await credits.hold('ply_1', 96, { key: 'b', expiresAt })
  const refusal = { code: 'insufficient_credits', statusCode: 402, body: { balance: 0, required: 1 } }
  await t.rejects(credits.hold('ply_1', 1, { key: 'c', expiresAt }), refusal)
  clock.advance(2000)
  t.ok(await credits.hold('ply_1', 1, { key: 'd', expiresAt }), 'what a dead process held is in nobody’s way')
  await t.rejects(credits.settle(all, 1, { description: 'test' }), { code: 'conflict' })
})

t.test('a grant with the same key is made once', async (t) => {
  const { app } = await startPlatform(t)
  const grant = { kind: 'grant', description: 'test', key: 'same' } as const
  await Promise.all(Array.from({ length: 20 }, () => app.credits.grant('ply_1', 5, grant)))
  t.equal((await app.credits.balance('ply_1')).available, 105)
  const page = await app.credits.ledger('ply_1', { limit: 1 })
  t.equal(page.entries.length, 1)
  const rest = await app.credits.ledger('ply_1', { limit: 5, cursor: page.nextCursor ?? '' })
  t.match(rest, { entries: { length: 1 }, nextCursor: null })
})

for (const [name, database] of [
  ['SQLite', null],
  ['PostgreSQL', startPostgres],
] as const)
  t.test(
    `an account that ends leaves its entries, and no trace of whose they were, on ${name}`,
    database ? needsPostgres : {},
    async (t) => {
      const config = database && {
        secret: 'the same on every node, and long enough',
        database: { driver: 'postgres', url: await (await database()).database() },
      }
      const platform = await startPlatform(t, { config: { payments: stripeConfig(), ...config } })
      const { app, clock } = platform
      const { credits, db, purchases } = app
      const ada = await platform.signUp({ name: 'Ada' })
      const bob = await platform.signUp({ name: 'Bob' })
      await credits.balance(bob.id)
      await credits.balance(ada.id)
      await credits.grant(ada.id, 5, { kind: 'grant', description: 'For Ada, of Elm Street', key: 'gift' })
      await db.execute(
        `insert into credit_purchases (id, player_id, pack_id, credits, price, currency, created_at)
         values ('pur_1', ?, 'small', 50, ?, 'eur', ?)`,
        [ada.id, PACK.price, clock.now()],
      )
      const payment = { paymentId: 'pi_1', amount: PACK.price }
      await purchases.receive({ kind: 'paid', id: 'evt_1', purchaseId: 'pur_1', ...PRICE, ...payment })
      const expiresAt = new Date(clock.now().getTime() + HOLD_MS)
      const hold = await credits.hold(ada.id, 20, { key: 'under way', expiresAt })
      const abandoned = await credits.hold(ada.id, 3, { key: 'of a dead process', expiresAt })

      await db.execute(
        `insert into ai_generations (id, player_id, game_id, type, model, credits, date, created_at)
         values ('gen_1', ?, null, 'text', 'small', 1, '2026-11-21', ?)`,
        [ada.id, clock.now()],
      )

      await app.identity.deletion.remove(ada.id)
      const tables = [
        'ai_generations',
        'credit_accounts',
        'credit_ledger',
        'credit_holds',
        'credit_purchases',
        'credit_payments',
      ]
      for (const table of tables)
        t.notMatch(JSON.stringify(await db.query(`select * from ${table}`)), new RegExp(`${ada.id}|Ada|Elm`), table)

      // Operations in progress are still recorded, and so are later events of the payment processor.
      t.same(await credits.settle(hold, 8, { description: 'Text by small' }), { balance: 147, held: 3, available: 144 })
      await purchases.receive({ kind: 'refunded', id: 'evt_2', refunded: PACK.price, at: 1, ...payment })
      clock.advance(HOLD_MS + 1)
      await credits.releaseExpired()
      t.equal(await credits.release(abandoned), false)
      const accounts = await db.query<{ balance: number; held: number; sum: number }>(
        `select balance, held, (select sum(amount) from credit_ledger entry where entry.player_id = a.player_id) as sum
         from credit_accounts a order by balance`,
      )
      t.match(
        accounts.map(({ balance, held, sum }) => [balance, held, Number(sum)]),
        [
          [97, 0, 97],
          [100, 0, 100],
        ],
      )
      t.match((await credits.ledger(bob.id)).entries, [{ kind: 'signup', amount: 100 }], 'nobody else lost anything')
    },
  )

t.test('a database that is gone does not keep the process from ending', async (t) => {
  const { app } = await startPlatform(t)
  await app.db.close()
  await t.resolves(app.close())
})
