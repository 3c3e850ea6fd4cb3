// Tests the SDK against a live server: in Node, and bundled in Chromium.
import { once } from 'node:events'
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { build } from 'esbuild'
import { expectTypeOf } from 'expect-type'
import t, { type Test } from 'tap'
import {
  ApiError,
  ConnectionError,
  createClient,
  createConnection,
  type FromSchema,
  type Game,
  getGame,
  MissingScopeError,
  NotFoundError,
  RateLimitedError,
  UnauthorizedError,
} from '../../clients/sdk/index.ts'
import { openBrowser, openPage } from '../kit/browser.ts'
import { startPlatform } from '../kit/platform.ts'
import { waitsOf } from '../kit/sdk-waits.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { until } from '../kit/until.ts'

async function openPlatform(t: Test, scopes?: string[]) {
  const platform = await startPlatform(t, { listen: true })
  const owner = await platform.signUp({ name: 'Ada' })
  const token = (await platform.program(owner, scopes)).token as string
  return { platform, owner, token, client: createClient({ baseUrl: platform.portal, token }) }
}

/** Starts a proxy that simulates network trouble: it answers a request itself when `trouble` says so. */
async function troubled(t: Test, portal: string, trouble: (path: string) => Response | 'cut' | null) {
  const { host, port } = new URL(portal)
  const seen: { method: string; path: string; key: string | undefined }[] = []
  const server = createServer(async (incoming, outgoing) => {
    const { method = 'GET', url = '/', headers } = incoming
    seen.push({ method, path: url, key: headers['idempotency-key'] as string | undefined })
    const answer = trouble(url)
    if (answer === 'cut') return incoming.socket.destroy()
    if (answer) {
      incoming.resume()
      return outgoing.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
    }
    const passed = httpRequest(
      { host: '127.0.0.1', port, method, path: url, headers: { ...headers, host } },
      (reply) => {
        outgoing.writeHead(reply.statusCode ?? 502, reply.headers)
        reply.pipe(outgoing)
      },
    )
    passed.on('error', () => outgoing.destroy())
    incoming.pipe(passed)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

t.test('games: made, read, listed page by page, changed, taken away', async (t) => {
  const { client, owner } = await openPlatform(t)
  t.match(await client.whoami(), { user: { id: owner.id, name: 'Ada' }, tokenLabel: 'test' })
  const game = await client.games.create({ title: 'Pong', description: 'Two paddles.', tags: ['co-op'] })
  t.match(game, { slug: 'pong', oauth: { clientSecret: /\S{20,}/ } })
  for (const title of ['One', 'Two', 'Three', 'Four']) await client.games.create({ title, description: '' })
  t.match(await client.games.get('pong'), { id: game.id })
  const titles: string[] = []
  for await (const { title } of client.games.list({ limit: 2 })) titles.push(title)
  t.same(titles, ['Four', 'Three', 'Two', 'One', 'Pong'], 'every page')
  t.equal((await client.games.list({ limit: 2 }).toArray(3)).length, 3)
  const first = await client.games.list({ limit: 2 }).page()
  t.match(await client.games.list({ limit: 2 }).page(first.nextCursor as string), { items: [{ title: 'Two' }, {}] })
  t.equal((await client.games.update('pong', { visibility: 'private' })).visibility, 'private')
  t.match(await client.games.analytics('pong'), { totals: { plays: 0 } })
  t.equal(await client.games.delete(game.id), undefined)
  await t.rejects(client.games.get(game.id), NotFoundError)
})

t.test('members: invited, promoted, made the owner, removed', async (t) => {
  const { client, platform, owner } = await openPlatform(t)
  const friend = await platform.signUp({ name: 'Ben' })
  const theirs = createClient({ baseUrl: platform.portal, token: (await platform.program(friend)).token as string })
  const { id } = await client.games.create({ title: 'Pong', description: '' })
  await t.rejects(theirs.members.list(id), NotFoundError)

  const link = await client.members.invite(id, { role: 'tester' })
  t.match(await client.members.invitations('pong').toArray(), [{ id: link.id, usesLeft: 20 }])
  await friend.submit(new URL(link.url).pathname, {})
  await client.members.revoke(id, link.id)
  t.same(await client.members.invitations(id).toArray(), [])
  await client.members.change(id, friend.id, 'maker')
  const roles = (await theirs.members.list(id)).map(({ player, role }) => [player.name, role])
  t.same(roles, [
    ['Ada', 'owner'],
    ['Ben', 'maker'],
  ])
  t.equal((await theirs.members.invite(id, { role: 'maker' }).catch((error) => error)).status, 403, 'only the owner')

  await client.transfers.offer(id, friend.id)
  t.match(await theirs.transfers.get(id), { from: { name: 'Ada' }, counts: { games: 1 } })
  await theirs.transfers.end(id)
  await t.rejects(theirs.transfers.accept(id), NotFoundError)
  await client.transfers.offer(id, friend.id)
  await theirs.transfers.accept(id)
  t.equal((await theirs.games.get(id)).role, 'owner')
  await client.members.remove(id, owner.id)
  await t.rejects(client.games.get(id), NotFoundError, 'the former owner has left')
})

t.test('deploys: published with progress, unchanged files not again, rolled back', async (t) => {
  const { client, platform } = await openPlatform(t)
  const game = await client.games.create({ title: 'Pong', description: '' })
  const page = { path: 'index.html', content: '<!doctype html><title>Pong</title>' }
  const data = { path: 'data/level.bin', content: new Uint8Array([1, 2, 3]) }
  const steps: number[] = []
  const first = await client.deploys.publish({
    gameId: game.id,
    files: [page, data],
    message: 'The first.',
    onProgress: ({ uploadedFiles }) => steps.push(uploadedFiles),
  })
  t.match(first, { uploaded: 2, deployId: /^dep_/, playUrl: /\/games\/pong$/, auth: { enabled: true } })
  t.same(steps, [0, 2], 'small files arrive together')
  const second = await client.deploys.publish({ gameId: game.id, files: [page, { ...data, content: 'other' }] })
  t.equal(second.uploaded, 1, 'only what changed')
  const asked = { host: platform.gameHost('pong') }
  t.equal((await platform.stranger.get('/data/level.bin', asked)).text, 'other')
  await client.deploys.rollback(first.deployId)
  t.equal((await platform.stranger.get('/data/level.bin', asked)).text, '\x01\x02\x03')
  t.match(await client.deploys.get(first.deployId), { state: 'live' })
  t.equal((await client.deploys.list(game.id).toArray()).length, 2)
})

t.test('files go to their presigned addresses without the token: those may be another service', async (t) => {
  const { platform, token } = await openPlatform(t)
  const sent: [method: string | undefined, authorization: string | null][] = []
  const recording: typeof fetch = (input, init) => {
    sent.push([init?.method, new Headers(init?.headers).get('authorization')])
    return fetch(input, init)
  }
  const client = createClient({ baseUrl: platform.portal, token, fetch: recording })
  const { id: gameId } = await client.games.create({ title: 'Pong', description: '' })
  await client.deploys.publish({ gameId, files: [{ path: 'index.html', content: '<!doctype html>' }] })
  t.same(
    sent.filter(([method]) => method === 'PUT'),
    [['PUT', null]],
  )
  const others = sent.filter(([method]) => method !== 'PUT')
  t.ok(others.length >= 3 && others.every(([, authorization]) => authorization === `Bearer ${token}`), 'all else does')
})

t.test('what cannot be done says why', async (t) => {
  const { client, platform, token } = await openPlatform(t, ['games:read'])
  const missing = await client.games.create({ title: 'x', description: '' }).catch((error) => error)
  t.type(missing, MissingScopeError)
  t.match(missing, { status: 403, code: 'missing_scope', scope: 'games:write' })
  t.equal(missing.message, 'API token is missing the games:write scope.')
  t.ok(missing.requestId)
  const stranger = createClient({ baseUrl: platform.portal })
  await t.rejects(stranger.games.list().page(), UnauthorizedError)
  const bad = await client.games
    .list({ limit: 1000 })
    .page()
    .catch((error) => error)
  t.type(bad, ApiError)
  t.match(bad, { status: 400, code: 'invalid_request', details: [{ path: /limit/ }] })
  t.match(await client.games.catalog().toArray(), [])
  const nowhere = createClient({ baseUrl: 'http://127.0.0.1:9', token, retries: 0 })
  await t.rejects(nowhere.whoami(), {
    name: 'ConnectionError',
    code: 'network',
    message: /127\.0\.0\.1:9 could not be/,
  })
  t.throws(() => createClient({ baseUrl: 'yard.example' }), /baseUrl is yard.example/)
  let asked = 0
  const late = createClient({ baseUrl: platform.portal, token: async () => (++asked ? token : undefined) })
  await late.whoami()
  t.equal(asked, 1, 'a token that is fetched')
})

t.test('trouble that passes is waited for', async (t) => {
  const { platform, token } = await openPlatform(t)
  const json = (status: number, code: string, headers = {}) =>
    Response.json({ error: { message: code, code } }, { status, headers })
  let queue: (Response | 'cut')[] = []
  const { baseUrl, seen } = await troubled(t, platform.portal, () => queue.shift() ?? null)
  const client = createClient({ baseUrl, token })
  const waits = waitsOf(t)
  const asking = async (troubles: (Response | 'cut')[], ask: () => Promise<unknown>) => {
    queue = troubles
    seen.length = 0
    waits.length = 0
    const result = await ask().catch((error) => error)
    return { result, tries: seen.length, waits: [...waits] }
  }

  const busy = await asking([json(503, 'internal'), new Response('<h1>Bad gateway</h1>', { status: 502 }), 'cut'], () =>
    client.whoami(),
  )
  t.match(busy, { result: { tokenLabel: 'test' }, tries: 4 })
  for (const [index, longest] of [400, 800, 1600].entries()) {
    const wait = busy.waits[index] as number
    t.ok(wait >= longest / 2 && wait <= longest, `pause ${index + 1}: ${wait} ms`)
  }
  const limited = await asking([json(429, 'rate_limited', { 'retry-after': '7' })], () => client.whoami())
  t.match(limited, { result: { tokenLabel: 'test' }, tries: 2 })
  t.same(limited.waits, [7000], 'as long as the platform asks')
  const long = await asking([json(429, 'rate_limited', { 'retry-after': '3600' })], () => client.whoami())
  t.match(long, { result: { retryAfterSeconds: 3600 }, tries: 1 })
  t.type(long.result, RateLimitedError)
  const streams = await asking([json(429, 'too_many_streams', { 'retry-after': '3600' })], () => client.whoami())
  t.match([long.result, streams.result], [{ code: 'rate_limited' }, { code: 'too_many_streams' }])
  t.type(streams.result, RateLimitedError)
  const unset = await asking([json(503, 'ai_not_configured')], () => client.whoami())
  t.match(unset, { result: { status: 503, code: 'ai_not_configured' }, tries: 1 }, 'what is not set up stays so')
  const wrong = await asking([json(400, 'invalid_request')], () => client.whoami())
  t.match(wrong, { result: { status: 400 }, tries: 1 })
  const hopeless = await asking(
    Array.from({ length: 9 }, () => json(500, 'internal')),
    () => createClient({ baseUrl, token, retries: 1 }).whoami(),
  )
  t.match(hopeless, { result: { status: 500 }, tries: 2 })

  const made = await asking(['cut', json(500, 'internal')], () =>
    client.games.create({ title: 'Once', description: '' }),
  )
  t.match(made, { result: { slug: 'once' }, tries: 3 })
  t.equal(new Set(seen.map(({ key }) => key)).size, 1, 'under one key')
  t.ok(seen[0]?.key)
  t.equal((await client.games.list().toArray()).length, 1, 'and made once')
  const deploy = await asking([json(500, 'internal')], () => client.deploys.rollback('dep_1'))
  t.match(deploy, { result: { status: 500 }, tries: 1 }, 'what may be done twice is not')
})

t.test('a signal ends a call, also while it waits', async (t) => {
  const { platform, token } = await openPlatform(t)
  const limited = () =>
    Response.json({ error: { message: 'x', code: 'rate_limited' } }, { status: 429, headers: { 'retry-after': '30' } })
  const { baseUrl, seen } = await troubled(t, platform.portal, limited)
  const client = createClient({ baseUrl, token })
  const stop = new AbortController()
  const call = client.whoami({ signal: stop.signal })
  await until(() => seen.length > 0)
  stop.abort(new Error('enough'))
  await t.rejects(call, { message: 'enough' })
  await t.rejects(client.whoami({ signal: AbortSignal.abort(new Error('before')) }), { message: 'before' })
  t.equal(seen.length, 1)
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.teardown(() => {
    silent.closeAllConnections()
    silent.close()
  })
  const silence = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
  const waiting = createClient({ baseUrl: silence, timeoutMs: 50, retries: 1 }).whoami()
  await t.rejects(waiting, { name: 'ConnectionError', code: 'timeout' })
})

t.test('in Chromium, bundled', { timeout: timeLimit(60) }, async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const { platform, token } = await openPlatform(t)
  const bundled = await build({
    entryPoints: [join(import.meta.dirname, '../../clients/sdk/index.ts')],
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'sdk',
    footer: { js: 'self.sdk = sdk' },
    platform: 'browser',
    target: ['chrome119'],
  })
  const { page, complaints } = await openPage(browser)
  await page.goto(`${platform.portal}/catalog`)
  await page.evaluate(bundled.outputFiles[0]?.text as string)
  const result = await page.evaluate(`(async () => {
    const client = sdk.createClient({ baseUrl: location.origin, token: ${JSON.stringify(token)} })
    const features = { inputs: ['touch', 'keyboard'] }
    const game = await client.games.create({ title: 'Pong', description: '', features })
    const live = await client.deploys.publish({
      gameId: game.id,
      files: [{ path: 'index.html', content: new Blob(['<!doctype html><title>Pong</title>']) }],
    })
    const failure = await client.games.get('nothing').catch((error) => [error instanceof sdk.NotFoundError, error.code])
    const listed = await client.games.catalog({ input: ['touch', 'keyboard'] }).toArray()
    const others = await client.games.catalog({ input: ['touch', 'gamepad'] }).toArray()
    const titles = [listed, others].map((games) => games.map(({ title }) => title))
    return { slug: game.slug, uploaded: live.uploaded, failure, titles }
  })()`)
  t.same(result, { slug: 'pong', uploaded: 1, failure: [true, 'not_found'], titles: [['Pong'], []] })
  t.same(
    complaints.filter((text) => !/404/.test(text)),
    [],
  )
})

t.test('types follow the platform’s own description', async (t) => {
  const client = createClient({ baseUrl: 'http://localhost:8080' })
  expectTypeOf(client.games.get).returns.resolves.toEqualTypeOf<Game>()
  expectTypeOf<Game['visibility']>().toEqualTypeOf<'public' | 'private'>()
  expectTypeOf<Game['coverUrl']>().toEqualTypeOf<string | null>()
  expectTypeOf<Game>().not.toHaveProperty('invitedIds')
  expectTypeOf<Game['features']['orientation']>().toEqualTypeOf<'any' | 'portrait' | 'landscape' | null>()
  expectTypeOf<Game['features']['players']>().toEqualTypeOf<('single' | 'local' | 'online')[]>()
  expectTypeOf(client.games.create).parameter(0).toHaveProperty('title').toEqualTypeOf<string>()
  expectTypeOf<Parameters<typeof client.games.create>[0]['tags']>().toEqualTypeOf<string[] | undefined>()
  expectTypeOf<FromSchema<{ type: 'string' }>>().toEqualTypeOf<string>()
  expectTypeOf<
    FromSchema<{
      type: 'object'
      properties: {
        name: { type: 'string' }
        gold: { type: 'integer' }
        mood: { enum: readonly ['calm', 'angry'] }
        items: {
          type: 'array'
          items: { type: 'object'; properties: { id: { type: 'number' } }; required: readonly [] }
        }
        note: { type: readonly ['string', 'null'] }
      }
      required: readonly ['name', 'mood', 'items', 'note']
    }>
  >().toEqualTypeOf<{
    name: string
    mood: 'calm' | 'angry'
    items: { id?: number }[]
    note: string | null
    gold?: number
  }>()
  const made = () =>
    client.generateObject({
      prompt: 'A goblin',
      schema: { type: 'object', properties: { gold: { type: 'integer' } }, required: ['gold'] },
    })
  expectTypeOf(made).returns.resolves.toHaveProperty('result').toEqualTypeOf<{ gold: number }>()
  // @ts-expect-error a game has a title
  const wrong = () => client.games.create({ description: '' })
  // @ts-expect-error there is no such input
  const input = () => client.games.catalog({ input: ['voice'] })
  t.type(input, 'function')
  // @ts-expect-error there is no such order
  const order = () => client.games.catalog({ sort: 'sideways' })
  t.type(wrong, 'function')
  t.type(order, 'function')
  t.type(
    getGame(createConnection({ baseUrl: 'http://127.0.0.1:9', retries: 0 }), 'x').catch(() => 0),
    Promise,
  )
  t.ok(ConnectionError)
})
