// In a process of its own: it measures the processor time of this process's main thread.
// Tests that the schemas of callers take nothing from others: they are compiled and matched in a worker thread.
import t from 'tap'
import { aiConfig, openai, startAiServer } from '../../kit/ai-server.ts'
import { inFull } from '../../kit/extent.ts'
import { startPlatform } from '../../kit/platform.ts'
import { processorLimit } from '../../kit/time-limit.ts'

/** A pattern that needs 2^n steps for n letters a and another sign. */
const SLOW = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } }
const AWKWARD = JSON.stringify({ a: `${'a'.repeat(60)}!` })
const object = (schema: Record<string, unknown>) => ({ type: 'object', prompt: 'A goblin.', schema })

/** Returns a schema with `count` subschemas, itself included. */
const subschemas = (count: number) => ({
  properties: Object.fromEntries(Array.from({ length: count - 1 }, (_, index) => [`p${index}`, {}])),
})

/** Returns a schema that refers to twice the previous part in each part, so that a check takes 2^depth steps. */
const doubling = (depth: number) => ({
  $ref: '#/$defs/d0',
  $defs: Object.fromEntries(
    Array.from({ length: depth }, (_, index) => [
      `d${index}`,
      index === depth - 1
        ? { type: 'object' }
        : { allOf: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }] },
    ]),
  ),
})

async function inhabit(t: Parameters<typeof startPlatform>[0], limits: Record<string, unknown> = {}) {
  const server = await startAiServer(t)
  const platform = await startPlatform(t, { config: { ai: aiConfig(server), limits } })
  const program = await platform.program(await platform.signUp())
  const generate = (schema: Record<string, unknown>) => program.post('/api/ai/generate', object(schema))
  return { server, platform, program, generate }
}

/** Returns the processor time of the main thread during some work, in ms. */
async function mainThreadMs(work: () => Promise<unknown>): Promise<number> {
  const before = process.threadCpuUsage()
  await work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}

t.test('a pattern that takes for ever takes the time of a worker, and the answer costs nothing', async (t) => {
  const { server, program, generate } = await inhabit(t)
  server.answer = openai('{"a": "aaa"}')
  t.match(await generate(SLOW), { status: 200, body: { result: { a: 'aaa' } } })
  server.answer = openai(AWKWARD)
  const started = performance.now()
  let answer: unknown
  const busyMs = await mainThreadMs(async () => {
    answer = await generate(SLOW)
  })
  const tookMs = performance.now() - started
  t.match(answer, { status: 502, body: { error: { code: 'upstream_error' } } })
  t.ok(busyMs < tookMs / 3, `${busyMs.toFixed(0)} of ${tookMs.toFixed(0)} ms`)
  t.equal((await program.get('/api/ai/credits')).body.balance, 99)
  server.answer = openai('{"a": "aa"}')
  t.match(await generate(SLOW), { status: 200 }, 'the next one gets another thread')
})

t.test('a schema has at most 500 subschemas, wherever they are', async (t) => {
  const { server, generate } = await inhabit(t)
  const tooMany = { status: 400, body: { error: { message: /more than 500 subschemas/ } } }
  t.match(await generate(subschemas(501)), tooMany)
  t.match(await generate({ unknown: { a: subschemas(499) } }), tooMany, 'of a keyword that nobody knows')
  t.match(await generate({ prefixItems: Array(501).fill(true) }), tooMany)
  t.equal(server.requests.length, 0)
  server.answer = openai('{"p0": 1}')
  t.match(await generate(subschemas(500)), { status: 200 })
  const values = { enum: Array.from({ length: 2000 }, (_, index) => index) }
  server.answer = openai('12')
  t.match(await generate(values), { status: 200 }, 'values are no schemas')
})

t.test('refused schemas are limited more than requests', async (t) => {
  const { server, platform, generate } = await inhabit(t, { rateLimits: true, aiRequestsPerMinute: 1000 })
  server.answer = openai('{}')
  for (let count = 0; count < 10; count++) t.match(await generate({ type: 'nonsense' }), { status: 400 })
  const limited = await generate({ type: 'object' })
  t.match(limited, { status: 429, headers: { 'retry-after': /^\d+$/ }, body: { error: { code: 'rate_limited' } } })
  const other = await platform.program(await platform.signUp())
  t.match(await other.post('/api/ai/generate', object({ type: 'object' })), { status: 200 }, 'others are not')
  platform.clock.advance(60_000)
  t.match(await generate({ type: 'object' }), { status: 200 })
})

inFull(t)?.test('no schema holds the main thread', async (t) => {
  const { server, generate } = await inhabit(t)
  server.answer = openai(AWKWARD)
  const awkward: Record<string, Record<string, unknown>> = {
    'references that double': doubling(60),
    'a reference to itself': { $ref: '#' },
    'many names': subschemas(500),
    'many patterns': {
      patternProperties: Object.fromEntries(Array.from({ length: 400 }, (_, n) => [`^(a+)+${n}$`, SLOW])),
    },
    'many choices': { anyOf: Array.from({ length: 400 }, (_, n) => ({ required: [`${n}`], ...doubling(2) })) },
    'deep nesting': Array.from({ length: 90 }).reduce<Record<string, unknown>>((inner) => ({ not: inner }), {}),
    'an array of many': { properties: { a: { enum: Array.from({ length: 4000 }, (_, n) => n) } } },
  }
  for (const [name, schema] of Object.entries(awkward)) {
    const busyMs = await mainThreadMs(async () => {
      const { status } = await generate(schema)
      t.ok([200, 400, 502].includes(status), `${name}: ${status}`)
    })
    t.ok(busyMs < processorLimit(300), `${name}: ${busyMs.toFixed(0)} ms`)
  }
})
