// What scripts of other origins may read: the errors of an address as well as its success (Fetch standard, CORS).
import t from 'tap'
import type { RouteEntry } from '../../core/http/routes.ts'
import { startPlatform } from '../kit/platform.ts'
import { form } from '../plugins/assets/kit.ts'
import { sheet } from '../plugins/assets/models.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
const READABLE = { 'access-control-allow-origin': '*', 'cross-origin-resource-policy': 'cross-origin' }

t.test('the errors of an address that scripts of other origins may read', async (t) => {
  const platform = await startPlatform(t)
  const player = await platform.signUp()
  const program = await platform.program(player)
  const { payload, headers } = form(await sheet(4), { title: 'Crate', visibility: 'public' })
  await program.post('/api/assets', payload, { headers })
  const game = await platform.game(player)
  const host = platform.gameHost(game.slug)
  const origin = 'https://game.example'
  const bad = { origin, authorization: 'Bearer svc_api_nonsense' }

  /** Every response has the headers of the one that succeeds. */
  for (const [method, url, status, options] of [
    ['GET', '/api/assets?limit=none', 400],
    ['GET', '/api/assets?owner=me', 401],
    ['GET', '/api/assets/crate/file?variant=none', 400],
    ['GET', '/api/assets/crate/file?path=other', 400],
    ['GET', '/api/assets/crate/animation/none', 404],
    ['GET', '/__service/assets/crate.glb?variant=none', 400, { host }],
    ['GET', '/__service/assets/none.glb', 404, { host }],
    ['GET', '/api/ai/credits', 401],
    ['POST', '/api/ai/generate', 401],
    ['GET', '/api/oauth/userinfo', 401],
    ['GET', '/_assets/none.js', 404],
  ] as [string, string, number, { host: string }?][]) {
    for (const sent of url.startsWith('/api/assets') ? [{ origin }] : [{ origin }, bad]) {
      const answer = await platform.stranger.request(method, url, undefined, { ...options, headers: sent })
      t.match(answer, { status, headers: READABLE }, `${method} ${url}`)
      t.match(answer.headers['access-control-expose-headers'], /retry-after/, `${method} ${url}: what it may read`)
    }
  }

  const readable = platform.app.routeTable.entries.filter(({ cors }) => cors !== null)
  t.ok(readable.length > 30)
  const methodsOf = ({ url, origin }: RouteEntry) =>
    platform.app.routeTable.entries
      .filter((other) => other.url === url && other.origin === origin)
      .map((other) => other.method)
  for (const entry of readable) {
    const path = entry.url
      .replace(/:file\(.*$/, 'engine.12345678.js')
      .replace('*', 'x')
      .replace(/:\w+/g, 'crate')
    const wrong = METHODS.find((method) => !methodsOf(entry).includes(method)) as string
    const at = entry.origin === 'game' ? { host } : {}
    const answer = await platform.stranger.request(wrong, path, undefined, { ...at, headers: { origin } })
    t.match(answer, { status: 405, headers: READABLE }, `${wrong} ${entry.url}`)
  }
})

t.test('a preflight of every such route that takes a token allows to send it', async (t) => {
  const platform = await startPlatform(t)
  const program = await platform.program(await platform.signUp())
  const { payload, headers } = form(await sheet(4), { title: 'Crate', visibility: 'public' })
  await program.post('/api/assets', payload, { headers })
  const routes = platform.app.routeTable.entries.filter(
    ({ cors, accepts, method }) => cors && accepts.some((kind) => kind !== 'session') && method !== 'OPTIONS',
  )
  t.ok(routes.length > 8)
  for (const { method, url } of routes) {
    const path = url.replace('*', 'x').replace(':id', 'crate').replace(':preset', 'walk')
    const asked = { 'access-control-request-method': method, 'access-control-request-headers': 'authorization' }
    const answer = await platform.stranger.request('OPTIONS', path, undefined, {
      headers: { origin: 'https://game.example', ...asked },
    })
    t.match(answer, { status: 204, headers: READABLE }, `${method} ${url}`)
    t.match(answer.headers['access-control-allow-headers'], /authorization/i, `${method} ${url}`)
    // Browsers need no permission for HEAD.
    if (method !== 'HEAD') t.match(answer.headers['access-control-allow-methods'], method, `${method} ${url}`)
  }
})

t.test('a response with the header comes from a route that says so', async (t) => {
  const platform = await startPlatform(t)
  for (const entry of platform.app.routeTable.entries) {
    if (entry.cors || entry.method === 'OPTIONS' || entry.url.includes(':') || entry.url.includes('*')) continue
    // A stream that anybody may open has no end.
    if (entry.url === '/live/jam' && entry.method === 'GET') continue
    const { headers } = await platform.stranger.request(entry.method, entry.url, undefined, {
      headers: { origin: 'https://game.example' },
    })
    t.equal(headers['access-control-allow-origin'], undefined, `${entry.method} ${entry.url}`)
  }
})

t.test('a token that is not valid counts as none where a token is optional', async (t) => {
  const platform = await startPlatform(t)
  const player = await platform.signUp()
  const program = await platform.program(player)
  for (const visibility of ['public', 'private']) {
    const { payload, headers } = form(await sheet(4), { title: visibility, visibility })
    await program.post('/api/assets', payload, { headers })
  }
  const expired = await player.post('/api/tokens', { label: 'short', scopes: ['assets:read'], expiresInDays: 30 })
  platform.clock.advance(31 * 86_400_000)
  for (const token of ['svc_api_nonsense', 'nonsense', expired.body.token]) {
    const headers = { authorization: `Bearer ${token}` }
    for (const path of ['', '/file', '/manifest', '/thumbnail']) {
      const get = (slug: string) => platform.stranger.get(`/api/assets/${slug}${path}`, { headers })
      t.match(await get('public'), { status: 200, headers: READABLE }, path)
      t.match(await get('private'), { status: 404 }, path)
    }
    t.match(await platform.stranger.get('/api/assets', { headers }), { status: 200 })
    const own = await platform.stranger.get('/api/assets?owner=me', { headers })
    t.match(own, { status: 401, body: { error: { message: /^This token is not valid/ } } })
  }
})
