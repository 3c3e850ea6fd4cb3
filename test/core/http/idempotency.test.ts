import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import Type from 'typebox'
import { Conflict } from '../../../core/errors.ts'
import { callerOf } from '../../../core/http/auth.ts'
import { IdempotentAnswer } from '../../../core/http/idempotency.ts'
import { definePlugin } from '../../../core/plugin.ts'
import { manualClock } from '../../kit/driver-context.ts'
import { startKernel } from '../../kit/kernel.ts'
import { until } from '../../kit/until.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** Starts a shop; `placed` has each order that was actually placed. */
async function start(t: Test) {
  const placed: string[] = []
  const gates: (() => void)[] = []
  const clock = manualClock()
  const shop = definePlugin({ name: 'shop' }, async (app) => {
    app.auth.recognise({
      credential: 'bearer',
      claims: (token) => token.startsWith('player-'),
      authenticate: (token) => ({ kind: 'api-token', playerId: token.slice(7), scopes: 'all', credentialId: token }),
    })
    const options = {
      config: { auth: 'any-token' as const, idempotent: true },
      constraints: { origin: 'portal' },
    }
    const body = Type.Object({
      item: Type.String(),
      trouble: Type.Optional(Type.String()),
      note: Type.Optional(Type.Unsafe<unknown>({})),
    })
    app.post('/orders', { ...options, schema: { body } }, async (request, reply) => {
      const { item, trouble } = request.body as { item: string; trouble?: string }
      if (trouble === 'refused') throw new Conflict('Sold out.')
      if (trouble === 'broken') throw new Error('broken')
      placed.push(`${callerOf(request).playerId}: ${item}`)
      if (trouble === 'hangs') await new Promise<void>((resolve) => gates.push(resolve))
      if (trouble === 'refused late') {
        await new Promise<void>((resolve) => gates.push(resolve))
        throw new Conflict('Sold out.')
      }
      await sleep(5)
      return reply.code(201).send({ order: placed.length, secret: `whispered-${placed.length}` })
    })
    app.post('/shops/:shop/orders', options, async (request) => {
      placed.push(request.url)
      return { order: placed.length }
    })
    app.post('/returns', options, async () => {
      placed.push('return')
      return { order: placed.length }
    })
    app.post('/charges', options, async (request) => {
      await new Promise<void>((resolve) => gates.push(resolve))
      const charge = `charge ${gates.length}`
      await app.db.groupCommit(async (statements) => {
        const row = [charge, '', clock.now()]
        await statements.execute('insert into idempotent_answers (id, body_digest, created_at) values (?, ?, ?)', row)
        await app.rememberAnswer(request, statements, () => JSON.stringify({ charge }))
      })
      return { charge }
    })
    app.post('/plain', { ...options, config: { auth: 'any-token' } }, async () => ({ order: placed.push('plain') }))
  })
  const app = await startKernel(t, { plugins: [shop], clock })
  const order = async (key: string | undefined, body: object = { item: 'kite' }, player = 'ann', url = '/orders') => {
    const response = await app.inject({
      method: 'POST',
      url,
      headers: {
        host: 'localhost:8080',
        authorization: `Bearer player-${player}`,
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      },
      body,
    })
    return {
      status: response.statusCode,
      body: response.json(),
      replayed: response.headers['idempotent-replay'] === 'true',
      headers: response.headers,
    }
  }
  return { app, clock, order, placed, gates }
}

t.test('the same key replays the first answer, and nothing happens twice', async (t) => {
  const { order, placed } = await start(t)
  const first = await order('a')
  t.match(first, { status: 201, body: { order: 1 }, replayed: false })
  const again = await order('a')
  t.match(again, { status: 201, replayed: true, headers: { 'cache-control': 'no-store' } })
  t.same(again.body, first.body, 'to the letter, secrets shown once included')
  t.match(again.headers['content-type'], /^application\/json/)
  t.match(await order('b'), { status: 201, body: { order: 2 } }, 'another key is another order')
  t.match(await order(undefined), { status: 201, body: { order: 3 } }, 'and without a key each is one')
  t.equal(placed.length, 3)
})

t.test('the same key with another body is refused', async (t) => {
  const { order, placed } = await start(t)
  await order('a', { item: 'kite' })
  t.match(await order('a', { item: 'ball' }), { status: 409, body: { error: { code: 'conflict' } } })
  t.match(await order('a', { item: 'kite', note: null }), { status: 409 })
  t.match(await order('a', { item: 'kite' }), { status: 201, replayed: true }, 'the first answer is still there')
  t.same(placed, ['ann: kite'])
})

t.test('a key belongs to its caller and its address', async (t) => {
  const { order, placed } = await start(t)
  await order('a')
  t.match(await order('a', { item: 'kite' }, 'ben'), { status: 201, replayed: false, body: { order: 2 } })
  t.match(await order('a', { item: 'kite' }, 'ann', '/returns'), { status: 200, replayed: false })
  t.match(await order('a', {}, 'ann', '/shops/1/orders'), { status: 200, replayed: false })
  t.match(
    await order('a', {}, 'ann', '/shops/2/orders'),
    { status: 200, replayed: false },
    'another thing of the route',
  )
  t.match(await order('a', {}, 'ann', '/shops/2/orders'), { status: 200, replayed: true })
  t.match(await order('a', {}, 'ann', '/plain'), { replayed: false })
  t.match(await order('a', {}, 'ann', '/plain'), { replayed: false }, 'only routes that say so')
  t.equal(placed.length, 7)
})

t.test('of many at once with one key exactly one takes effect', async (t) => {
  const { order, placed } = await start(t)
  const answers = await Promise.all(Array.from({ length: 30 }, () => order('a')))
  t.same(placed, ['ann: kite'])
  const done = answers.filter(({ status }) => status === 201)
  t.ok(done.length >= 1)
  for (const { body } of done) t.same(body, done[0]?.body)
  for (const answer of answers.filter(({ status }) => status !== 201)) {
    t.match(answer, { status: 409, headers: { 'retry-after': '1' } }, 'the others are told to come again')
  }
  t.match(await order('a'), { status: 201, replayed: true })
})

t.test('a refusal frees the key, whoever was to blame', async (t) => {
  const { order, placed } = await start(t)
  t.match(await order('a', { item: 'kite', trouble: 'refused' }), { status: 409 })
  t.match(await order('a', { item: 'kite', trouble: 'broken' }), { status: 500 }, 'with another body, even')
  t.match(await order('a', { item: 5 }), { status: 400 }, 'a body that is not valid never takes it')
  t.match(await order('a'), { status: 201, replayed: false })
  t.same(placed, ['ann: kite'])
})

t.test('after 24 hours a key is new again, and the answer is gone from the database', async (t) => {
  const { app, clock, order, placed } = await start(t)
  await order('a')
  clock.advance(24 * HOUR - 1)
  t.match(await order('a'), { replayed: true }, 'until the last moment')
  clock.advance(2)
  t.match(await order('a', { item: 'ball' }), { status: 201, replayed: false }, 'also with another body')
  t.same(placed, ['ann: kite', 'ann: ball'])

  await order('b')
  const rows = () => app.db.em().count(IdempotentAnswer, {})
  t.equal(await rows(), 2)
  clock.advance(25 * HOUR)
  await app.jobs.start() // The start checks immediately for due jobs.
  // The sweep takes what nobody asks for.
  await until(async () => (await rows()) === 0)
})

t.test('a request that died with its process gives its key back after twenty seconds', async (t) => {
  const { clock, order, placed, gates } = await start(t)
  const body = { item: 'kite', trouble: 'hangs' }
  const dead = order('a', body)
  await until(() => gates.length === 1)
  t.match(await order('a', body), { status: 409, headers: { 'retry-after': '1' } })
  clock.advance(20_000)
  t.match(await order('a', body), { status: 409 }, 'not before')
  t.match(await order('a', { item: 'ball' }), { status: 409 }, 'nor for another body')
  clock.advance(2)
  const taken = order('a', body)
  await until(() => gates.length === 2)
  gates[1]?.()
  const answer = await taken
  t.match(answer, { status: 201, replayed: false })
  t.equal(placed.length, 2)
  gates[0]?.()
  await dead
  t.same((await order('a', body)).body, answer.body, 'the one that was late after all changes nothing')
})

t.test('the transaction of a request whose key went to another does not commit', async (t) => {
  const { app, clock, order, gates } = await start(t)
  const charges = () => app.db.query("select id from idempotent_answers where id like 'charge%'", [])
  const paused = order('a', {}, 'ann', '/charges')
  await until(() => gates.length === 1)
  clock.advance(20_002)
  const taken = order('a', {}, 'ann', '/charges')
  await until(() => gates.length === 2)
  gates[0]?.()
  t.match(await paused, { status: 409, body: { error: { code: 'conflict' } }, headers: { 'retry-after': '1' } })
  t.same(await charges(), [], 'it was rolled back')
  gates[1]?.()
  t.match(await taken, { status: 200, replayed: false, body: { charge: 'charge 2' } })
  t.match(await order('a', {}, 'ann', '/charges'), { status: 200, replayed: true, body: { charge: 'charge 2' } })
  t.same(await charges(), [{ id: 'charge 2' }])
})

t.test('a request keeps its key for as long as its process works on it', async (t) => {
  const { app, clock, order, placed, gates } = await start(t)
  const body = { item: 'kite', trouble: 'hangs' }
  const slow = order('a', body)
  await until(() => gates.length === 1)
  // A generation takes up to 15 minutes.
  for (const seconds of [15, 885]) {
    clock.advance(seconds * 1000)
    const renewed = () => app.db.em().count(IdempotentAnswer, { renewedAt: clock.now() })
    await until(renewed)
    t.match(await order('a', body), { status: 409 }, `after ${seconds} more seconds`)
  }
  gates[0]?.()
  t.match(await slow, { status: 201 })
  t.match(await order('a', body), { status: 201, replayed: true })
  t.same(placed, ['ann: kite'])
})

t.test(
  'a key of a process of the version before, which says nothing while it works, is kept for two minutes',
  async (t) => {
    const { app, clock, order, gates } = await start(t)
    const body = { item: 'kite', trouble: 'hangs' }
    const old = order('a', body)
    await until(() => gates.length === 1)
    await app.db.em().nativeUpdate(IdempotentAnswer, { status: null }, { renewedAt: null })
    clock.advance(2 * MINUTE)
    t.match(await order('a', body), { status: 409 })
    clock.advance(1)
    const taken = order('a', body)
    await until(() => gates.length === 2)
    for (const open of gates) open()
    t.match(await taken, { status: 201, replayed: false })
    await old
  },
)

t.test('a late refusal does not free the key that went to another', async (t) => {
  const { clock, order, placed, gates } = await start(t)
  const body = { item: 'kite', trouble: 'refused late' }
  const late = order('a', body)
  await until(() => gates.length === 1)
  clock.advance(2 * MINUTE + 1)
  const taken = order('a', body)
  await until(() => gates.length === 2)
  gates[0]?.()
  await late
  t.match(await order('a', body), { status: 409, headers: { 'retry-after': '1' } }, 'the other is still under way')
  gates[1]?.()
  await taken
  t.equal(placed.length, 2)
})

t.test('what is kept is encrypted: neither answer nor key can be read in the database', async (t) => {
  const { app, order } = await start(t)
  await order('my-own-key', { item: 'kite', note: 'very private' })
  const rows = await app.db.query<Record<string, unknown>>('select * from idempotent_answers', [])
  t.equal(rows.length, 1)
  const kept = Object.values(rows[0] ?? {}).map((value) =>
    value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value),
  )
  for (const secret of ['whispered', 'order', 'my-own-key', 'very private', 'ann']) {
    t.notMatch(kept.join('\n'), secret, secret)
  }
  const { answer } = rows[0] as { answer: Uint8Array }
  t.ok(answer.length > 40, 'the answer is there')
  const twin = await start(t)
  await twin.order('my-own-key', { item: 'kite', note: 'very private' })
  const [other] = await twin.app.db.query<{ answer: Uint8Array }>('select answer from idempotent_answers', [])
  const digest = (bytes: Uint8Array | undefined) =>
    createHash('sha256')
      .update(bytes ?? '')
      .digest('hex')
  t.not(digest(other?.answer), digest(answer), 'never twice the same bytes')
})

t.test('a key is 1 to 200 printable characters', async (t) => {
  const { order, placed } = await start(t)
  for (const key of ['a', '!', '~', 'x'.repeat(200), '5f1c8d1e-8a4b-4b57-9d3f-1f6f0f8f8a10', '{"a":1}']) {
    t.match(await order(key), { status: 201, replayed: false }, key.slice(0, 20))
    t.match(await order(key), { status: 201, replayed: true }, key.slice(0, 20))
  }
  const count = placed.length
  for (const key of ['', ' ', 'a b', 'x'.repeat(201), 'ü', 'a\tb', 'a, b']) {
    t.match(await order(key), { status: 400, body: { error: { code: 'invalid_request' } } }, JSON.stringify(key))
  }
  t.equal(placed.length, count)
})
