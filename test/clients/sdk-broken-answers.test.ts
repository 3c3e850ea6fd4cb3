// The SDK against a server whose answers break, stall, or come from something else, over a real socket.
import { getEventListeners, once } from 'node:events'
import t, { type Test } from 'tap'
import { ApiError, type ClientOptions, ConnectionError, createClient } from '../../clients/sdk/index.ts'
import { aiConfig, openai, startAiServer } from '../kit/ai-server.ts'
import { startPlatform } from '../kit/platform.ts'
import { type Answer, cut, cutWithoutLength, json, page, stalled, startScriptedServer } from '../kit/scripted-server.ts'
import { waitsOf } from '../kit/sdk-waits.ts'

async function serving(t: Test, options: Partial<ClientOptions> = {}) {
  const server = await startScriptedServer(t)
  return { ...server, client: createClient({ baseUrl: server.baseUrl, token: 'x', ...options }) }
}

const events = (...list: [event: string, data: unknown][]): string =>
  list.map(([event, data]) => `${event === '' ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`).join('')
const EVENT_STREAM = { 'content-type': 'text/event-stream' }
const stream =
  (text: string): Answer =>
  (response) =>
    response.writeHead(200, EVENT_STREAM).end(text)
const TEXT = {
  id: 'gen_1',
  type: 'text',
  model: 'm',
  result: 'Äh, hi.',
  finish: 'complete',
  creditsUsed: 1,
  balance: 9,
}
const WHOLE = events(['', { delta: 'Äh,' }], ['', { delta: ' hi.' }], ['done', TEXT])

const failure = (call: Promise<unknown>) =>
  call.then(
    (result) => ({ name: 'none', result }),
    (error) => error,
  )

t.test('an answer that is cut is fetched again with its key, or ends as a connection that broke', async (t) => {
  const { client, seen, answer } = await serving(t)
  waitsOf(t)
  for (const broken of [
    cut('{"id":'),
    cut('{"id":', { 'content-type': 'application/json', 'content-length': '100' }),
    cutWithoutLength,
  ]) {
    answer(broken, json(TEXT))
    t.match(await client.generateText({ prompt: 'x' }), { result: 'Äh, hi.' })
    t.equal(seen.length, 2)
    t.equal(new Set(seen.map(({ key }) => key)).size, 1, 'under one key')
    t.type(seen[0]?.key, 'string')
    answer(broken)
    const once = await failure(client.deploys.rollback('dep_1'))
    t.type(once, ConnectionError)
    t.match([once, seen.length], [{ code: 'network', message: /cut/ }, 1], 'what may be done once is not repeated')
  }
  answer(
    json({ games: [{ id: 1 }], nextCursor: 'c' }),
    cut('{"games":'),
    json({ games: [{ id: 2 }], nextCursor: null }),
  )
  t.match(await client.games.list().toArray(), [{ id: 1 }, { id: 2 }], 'a page in the middle of a list too')
})

t.test('an answer that stalls ends by the time limit', async (t) => {
  const { client, answer } = await serving(t, { timeoutMs: 200, retries: 0 })
  answer(stalled('{"id":'))
  const timeout = { name: 'ConnectionError', code: 'timeout', message: /sent nothing for 200 ms/ }
  t.match(await failure(client.whoami()), timeout)
  t.match(await failure(client.games.list().toArray()), timeout)
  t.match(await failure(client.generateText({ prompt: 'x' })), timeout, 'however long a generation may take to begin')
  answer(stalled('glTF', { 'content-type': 'model/gltf-binary' }))
  const download = await client.getAssetFile('ship')
  t.match(await failure(download.arrayBuffer()), timeout, 'a download')
  answer(stalled('{"error":', { 'content-type': 'application/json' }, 503))
  t.match(await failure(client.whoami()), { status: 503, code: 'http_503' }, 'an error counts by its status')
})

t.test('a page instead of an answer is said as such, and not asked for again', async (t) => {
  const { client, seen, answer } = await serving(t)
  const calls: Record<string, () => Promise<unknown>> = {
    json: () => client.whoami(),
    list: () => client.games.list().toArray(),
    generation: () => client.generateText({ prompt: 'x' }),
    stream: () => client.streamText({ prompt: 'x' }).whole(),
    asset: () => client.getAssetFile('ship'),
    artifact: () => client.blender.artifact('job_1', 'model.glb'),
    save: () => client.saves.get('progress'),
  }
  for (const [name, call] of Object.entries(calls)) {
    answer(page)
    const error = await failure(call())
    t.type(error, ApiError, name)
    t.match(error, { status: 200, code: 'unexpected_answer', message: /text\/html.*baseUrl/ }, name)
    t.equal(seen.length, 1, name)
  }
  answer(json({ hello: 'world' }))
  t.match(await failure(client.games.list().toArray()), { code: 'unexpected_answer' }, 'JSON without the list')
})

t.test('no listener stays on the signal of a caller', async (t) => {
  const { client, answer } = await serving(t, { retries: 0 })
  const { signal } = new AbortController()
  const listeners = () => getEventListeners(signal, 'abort').length
  const bytes: Answer = (response) => response.writeHead(200, { 'content-type': 'model/gltf-binary' }).end('glTF')
  const calls: [string, Answer, () => Promise<unknown>][] = [
    ['an answer', json({}), () => client.whoami({ signal })],
    ['nothing', (response) => response.writeHead(204).end(), () => client.games.delete('x', { signal })],
    ['an error', json({ error: { code: 'not_found', message: 'x' } }, 404), () => client.whoami({ signal })],
    ['a cut answer', cut('{'), () => client.whoami({ signal })],
    ['a broken connection', (response) => response.destroy(), () => client.whoami({ signal })],
    ['a page', page, () => client.getAssetFile('ship', { signal })],
    ['a download', bytes, async () => (await client.getAssetFile('ship', { signal })).arrayBuffer()],
    ['a left download', bytes, async () => (await client.getAssetFile('ship', { signal })).body?.cancel()],
    ['a stream', stream(WHOLE), () => client.streamText({ prompt: 'x', signal }).whole()],
  ]
  for (const [name, script, call] of calls) {
    answer(script)
    await failure(call())
    t.equal(listeners(), 0, name)
  }
})

t.test('the first request with a key that is still under way is waited for', async (t) => {
  const { client, seen, answer } = await serving(t)
  const waits = waitsOf(t)
  const busy = json({ error: { code: 'conflict', message: 'under way' } }, 409, { 'retry-after': '1' })
  answer(...Array.from({ length: 7 }, () => busy), json(TEXT))
  t.match(await client.generateText({ prompt: 'x' }), { result: 'Äh, hi.' })
  t.equal(seen.length, 8, 'more often than a failure')
  t.same(waits, [1000, 1000, 1600, 3200, 5000, 5000, 5000])
  answer(json({ error: { code: 'slug_taken', message: 'taken' } }, 409))
  t.match(await failure(client.games.create({ title: 'x', description: '' })), { status: 409, code: 'slug_taken' })
  t.equal(seen.length, 1, 'another conflict stays')
  waits.length = 0
  answer(json({}, 503, { 'retry-after': '1.5' }), json({}))
  await client.whoami()
  t.same(waits, [1500], 'a fraction of a second is a delay too')
})

t.test('a streamed text', async (t) => {
  const { client, seen, answer } = await serving(t)
  waitsOf(t)
  const bytes = Buffer.from(WHOLE)
  answer(async (response) => {
    response.writeHead(200, EVENT_STREAM)
    for (const byte of bytes) {
      response.write(Buffer.of(byte))
      await new Promise((resolve) => setImmediate(resolve))
    }
    response.end()
  })
  const pieces: string[] = []
  const text = client.streamText({ prompt: 'x' })
  for await (const piece of text) pieces.push(piece)
  t.same(pieces, ['Äh,', ' hi.'], 'in the pieces of the platform, however the network cuts them')
  t.match(await text.whole(), { result: 'Äh, hi.', creditsUsed: 1 })

  answer(cut('', EVENT_STREAM), cut('data: {"del', EVENT_STREAM), stream(WHOLE))
  t.match(await client.streamText({ prompt: 'x' }).whole(), { result: 'Äh, hi.' })
  t.equal(seen.length, 3, 'cut before its first piece, it is asked for again')
  t.equal(new Set(seen.map(({ key }) => key)).size, 1, 'under one key')

  const first = events(['', { delta: 'Äh,' }])
  for (const broken of [cut(first, EVENT_STREAM), stream(first)]) {
    answer(broken)
    const error = await failure(client.streamText({ prompt: 'x' }).whole())
    t.type(error, ConnectionError)
    t.match([error, seen.length], [{ code: 'network', message: /cut/ }, 1], 'cut later, it ends')
  }
  answer(
    stream(first + events(['error', { error: { code: 'upstream_error', message: 'It failed.' }, reason: 'busy' }])),
  )
  const failed = await failure(client.streamText({ prompt: 'x' }).whole())
  t.type(failed, ApiError)
  t.match(failed, { code: 'upstream_error', reason: 'busy', message: 'It failed.' })

  let left: Promise<unknown> | undefined
  answer((response) => {
    left = once(response, 'close')
    response.writeHead(200, EVENT_STREAM).write(first)
  })
  const leaving = client.streamText({ prompt: 'x' })
  for await (const piece of leaving) if (piece === 'Äh,') break
  await left
  t.match(await failure(leaving.whole()), { name: 'ConnectionError' }, 'one that was left has no whole')
})

t.test('a download that is cut ends as a connection that broke', async (t) => {
  const { client, answer } = await serving(t)
  const type = { 'content-type': 'model/gltf-binary' }
  for (const broken of [cut('glTF', type), cut('glTF', { ...type, 'content-length': '100' })]) {
    answer(broken)
    const response = await client.getAssetFile('ship')
    t.equal(response.headers.get('content-type'), 'model/gltf-binary')
    const error = await failure(response.arrayBuffer())
    t.type(error, ConnectionError)
    t.match(error, { code: 'network', message: /cut/ })
  }
})

t.test('the platform streams a text to the SDK', async (t) => {
  const provider = await startAiServer(t, openai('Once upon a time.'))
  const platform = await startPlatform(t, { listen: true, config: { ai: aiConfig(provider) } })
  const token = (await platform.program(await platform.signUp(), ['ai:generate'])).token as string
  const text = createClient({ baseUrl: platform.portal, token }).streamText({ prompt: 'A tale' })
  const pieces: string[] = []
  for await (const piece of text) pieces.push(piece)
  t.equal(pieces.join(''), 'Once upon a time.')
  t.ok(pieces.length > 1)
  t.match(await text.whole(), { result: 'Once upon a time.', finish: 'complete', creditsUsed: 1 })
})
