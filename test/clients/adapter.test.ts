// Tests the server adapter, as a game's server uses it, against the platform on a real socket.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Fastify from 'fastify'
import { Hono } from 'hono'
import t from 'tap'
import { createAuth as forNode } from '../../clients/adapter/express.ts'
import { gameAuth } from '../../clients/adapter/fastify.ts'
import { createAuth as forHono } from '../../clients/adapter/hono.ts'
import { type Auth, type AuthSettings, AuthSettingsError, createAuth } from '../../clients/adapter/index.ts'
import { approved, GAME_ORIGIN, GameVisitor, proxyTo } from '../kit/game-visitor.ts'
import { startPlatform } from '../kit/platform.ts'
import { HOSTILE_PATHS, SAFE_PATHS } from '../kit/return-paths.ts'

const SECRET = 's'.repeat(32)
const CALLBACK = '/auth/service/callback'

const platform = await startPlatform(t, { listen: true })

/** Creates a game on another host, its settings, and a player. */
async function elsewhere({ url = GAME_ORIGIN, ...fields }: AuthSettings & { url?: string } = {}) {
  const owner = await platform.signUp()
  const { oauth } = await platform.game(owner, { title: 'Relay', url })
  const settings: AuthSettings = {
    clientId: oauth.clientId,
    clientSecret: oauth.clientSecret,
    redirectUri: oauth.redirectUri,
    sessionSecret: SECRET,
    baseUrl: platform.portal,
    ...fields,
  }
  return { player: await platform.signUp({ name: 'Ada' }), settings }
}

/** Returns the name of a game's session cookie on http, or the beginning of the names of its state cookies. */
const nameOf = ({ clientId }: AuthSettings, purpose = 'session') =>
  `service_${purpose}_${clientId?.slice('svc_client_'.length, 'svc_client_'.length + 8)}`

const visit = (auth: Auth) => new GameVisitor(async (request) => (await auth.handle(request)) as Response)

t.test('a player signs in, is known, and signs out', async (t) => {
  const seen: unknown[] = []
  const { player, settings } = await elsewhere({
    scope: 'profile email',
    onSignIn: async (...what) => void seen.push(what),
  })
  const auth = createAuth(settings)
  const visitor = visit(auth)
  t.same(await visitor.session(), { signedIn: false })

  const start = await visitor.ask('/auth/service/start?returnTo=/level/2%3Fx=1')
  t.equal(start.status, 302)
  t.equal(start.headers.get('cache-control'), 'no-store')
  t.equal(start.headers.get('cross-origin-resource-policy'), 'cross-origin')
  const authorize = new URL(start.headers.get('location') as string)
  t.equal(authorize.origin + authorize.pathname, `${platform.portal}/oauth/authorize`)
  t.match(Object.fromEntries(authorize.searchParams), {
    response_type: 'code',
    client_id: settings.clientId,
    redirect_uri: `${GAME_ORIGIN}${CALLBACK}`,
    scope: 'profile email',
    code_challenge_method: 'S256',
  })
  t.match(
    start.headers.getSetCookie()[0],
    /^service_state_[\w-]{8}_[\w-]{22}=[^;]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/,
  )

  const back = await visitor.ask(await approved(platform, player, authorize.href))
  t.equal(back.status, 302)
  t.equal(back.headers.get('location'), '/level/2?x=1')
  const name = nameOf(settings)
  t.same([...visitor.cookies.keys()], [name], 'the state is gone')
  const { email } = player.account
  t.match(await visitor.session(), {
    signedIn: true,
    user: { id: player.id, name: 'Ada', email },
    scope: 'profile email',
    expiresAt: /^\d{4}-\d\d-\d\dT.*Z$/,
  })
  t.match(
    seen,
    [
      [
        { id: player.id, name: 'Ada', email },
        { accessToken: /\S{20,}/, expiresIn: 3600 },
      ],
    ],
    'told once',
  )
  const cookie = `${name}=${visitor.cookies.get(name)}`
  for (const request of [
    new Headers({ cookie }),
    { headers: new Headers({ cookie }) },
    { headers: { cookie } },
    new Request(GAME_ORIGIN, { headers: { cookie } }),
  ]) {
    t.match(await auth.getSession(request), { signedIn: true, user: { id: player.id } })
  }

  const out = await visitor.ask('/auth/service/logout?returnTo=/bye', {
    method: 'POST',
    headers: { accept: 'text/html' },
  })
  t.equal(out.status, 303)
  t.equal(out.headers.get('location'), '/bye')
  t.same(await visitor.session(), { signedIn: false })
  await visitor.signIn(platform, player)
  t.equal((await visitor.session()).signedIn, true)
  t.same(await (await visitor.ask('/auth/service/logout')).json(), { signedIn: false }, 'GET, from a script')
  t.same(await visitor.session(), { signedIn: false })
})

t.test('a callback that this browser did not ask for is refused', async (t) => {
  const { player, settings } = await elsewhere()
  const auth = createAuth(settings)
  const [visitor, other] = [visit(auth), visit(auth)]
  const start = await visitor.ask('/auth/service/start')
  const back = await approved(platform, player, String(start.headers.get('location')))
  const refused = async (who: GameVisitor, path: string, message: RegExp) => {
    const answer = await who.ask(path)
    t.equal(answer.status, 400, path)
    t.match(await answer.json(), { error: { code: 'sign_in_failed', message } })
    t.equal(answer.headers.getSetCookie().length, 0)
  }
  await refused(other, back, /began in another browser/)
  await refused(visitor, back.replace(/state=[^&]+/, `state=${'A'.repeat(22)}`), /began in another browser/)
  await refused(visitor, '/auth/service/callback', /began in another browser/)
  const planted = visit(createAuth(settings))
  await planted.ask('/auth/service/start')
  const [sealed = ''] = planted.cookies.values()
  planted.cookies.set(`${nameOf(settings, 'state')}_${new URL(back, GAME_ORIGIN).searchParams.get('state')}`, sealed)
  await refused(planted, back, /began in another browser/)
  await refused(visitor, back.replace(/code=[^&]+/, 'code='), /code is missing/)
  await refused(visitor, back.replace(/code=[^&]+/, 'code=nonsense'), /invalid_grant/)
  await refused(visitor, back.replace(/iss=[^&]+/, 'iss=https%3A%2F%2Fevil.example'), /not from the portal/)
  t.equal((await visitor.ask(back)).status, 302, 'and the good one is taken')
  await visitor.ask('/auth/service/logout')
  await refused(visitor, back, /began in another browser/)
})

t.test('a sign-in that began at another name of the machine says so, and begins again where it ends', async (t) => {
  const { player, settings } = await elsewhere()
  const auth = createAuth(settings)
  // Cookies belong to one name, so a browser at 127.0.0.1 sends others than at localhost.
  const [opened, registered] = [visit(auth), visit(auth)]
  const start = await opened.ask('/auth/service/start')
  const back = await approved(platform, player, String(start.headers.get('location')))
  const page = await registered.ask(back, { headers: { accept: 'text/html' } })
  t.equal(page.status, 400)
  const text = await page.text()
  t.match(text, /This sign-in .* began in another browser or at another address\./)
  const [, again = ''] = /<a href="([^"]+)">Sign in again</.exec(text) ?? []
  t.equal((await registered.signIn(platform, player, again)).status, 302)
  t.match(await registered.session(), { signedIn: true })
  t.same(await opened.session(), { signedIn: false })
})

t.test('a portal that cannot be asked is a gateway error', async (t) => {
  const { player, settings } = await elsewhere()
  for (const [portal, message] of [
    [() => Promise.reject(new TypeError('fetch failed')), /could not be asked/],
    [async () => new Response('<h1>Bad gateway</h1>', { status: 502 }), /answered with 502/],
    [async () => Response.json({ token_type: 'Bearer' }), /did not say who/],
  ] as [typeof fetch, RegExp][]) {
    const visitor = visit(createAuth({ ...settings, fetch: portal }))
    const answer = await visitor.signIn(platform, player)
    t.equal(answer.status, 502)
    t.match(await answer.json(), { error: { code: 'upstream_error', message } })
    t.same(await visitor.session(), { signedIn: false })
  }
})

t.test('inside the portal’s frame nothing is asked, and cookies are partitioned', async (t) => {
  const { player, settings } = await elsewhere()
  const visitor = visit(createAuth(settings))
  const framed = { 'sec-fetch-dest': 'iframe', 'sec-fetch-site': 'cross-site' }
  const embed = '/auth/service/start?embed=1&returnTo=/play'
  const start = await visitor.ask(embed, { headers: framed })
  const location = new URL(start.headers.get('location') as string)
  t.equal(location.searchParams.get('prompt'), 'none')
  t.match(start.headers.getSetCookie()[0], /; HttpOnly; SameSite=None; Secure; Partitioned$/)
  const silent = await player.get(location.pathname + location.search)
  const back = new URL(silent.headers.location as string)
  t.equal(back.searchParams.get('error'), 'consent_required')
  const answer = await visitor.ask(back.pathname + back.search, { headers: framed })
  t.equal(answer.headers.get('location'), '/play', 'back in the game')
  t.same(await visitor.session(), { signedIn: false }, 'signed out')

  const lost = await visitor.ask('/auth/service/callback?code=a&state=b', { headers: framed })
  t.match([lost.status, lost.headers.get('location')], [302, '/'], 'a browser that kept no cookie shows the game, too')
  t.equal((await visitor.ask('/auth/service/callback?code=a&state=b')).status, 400)

  await visitor.signIn(platform, player)
  await visitor.ask('/auth/service/logout')
  const again = await visitor.signIn(platform, player, embed, framed)
  t.match(again.headers.getSetCookie().at(-1), /^service_session_[\w-]{8}=.*; SameSite=None; Secure; Partitioned$/)
  t.equal((await visitor.session()).signedIn, true, 'once consented, signed in without a click')
})

t.test('on https the cookies bear __Host- and are for frames too', async (t) => {
  const { player, settings } = await elsewhere({ url: 'https://relay.example' })
  const visitor = visit(createAuth(settings))
  const answer = await visitor.signIn(platform, player)
  const form = /^__Host-service_session=[^;]+; Path=\/; Max-Age=604800; HttpOnly; SameSite=None; Secure; Partitioned$/
  t.match(answer.headers.getSetCookie().at(-1), form)
  t.equal((await visitor.session()).signedIn, true)
})

t.test('a session holds where and as long as it was made to', async (t) => {
  let time = Date.now()
  const { player, settings } = await elsewhere({ sessionSeconds: 3600, now: () => new Date(time) })
  const visitor = visit(createAuth(settings))
  await visitor.signIn(platform, player)
  const name = nameOf(settings)
  const value = visitor.cookies.get(name) as string
  const read = (changes: AuthSettings, cookie = `${name}=${value}`) =>
    createAuth({ ...settings, ...changes }).getSession(new Headers({ cookie }))
  t.match(await read({}), { signedIn: true }, 'on another server with the same secret')
  const behind = () => new Date(time - 30_000)
  t.match(await read({ now: behind }), { signedIn: true }, 'whose clock is behind')
  for (const [changes, why] of [
    [{ sessionSecret: 'x'.repeat(32) }, 'another secret'],
    [{ clientId: 'another' }, 'another application'],
    [{ redirectUri: 'http://other.localhost:3000/auth/service/callback' }, 'another host'],
  ] as [AuthSettings, string][]) {
    t.same(await read(changes), { signedIn: false }, why)
  }
  t.same(await read({}, `${name}=${value}; ${name}=${value}`), { signedIn: false }, 'two of them')
  t.same(await read({}, `${name}=${value.slice(0, -2)}`), { signedIn: false }, 'cut short')
  t.same(await read({}, `${name}=`), { signedIn: false }, 'empty')
  const start = await visitor.ask('/auth/service/start')
  const [, state = ''] = /^service_state_[^=]+=([^;]+)/.exec(start.headers.getSetCookie()[0] as string) ?? []
  t.same(await read({}, `${name}=${state}`), { signedIn: false }, 'a state is no session')
  time += 3_590_000
  t.match(
    await read({ now: () => new Date(time + 40_000) }),
    { signedIn: true },
    'a clock that is ahead by less than a minute',
  )
  time += 120_000
  t.same(await read({}), { signedIn: false }, 'over')
})

t.test('the page after a sign-in may be reloaded, and a failed one says why: a page to browsers', async (t) => {
  const { player, settings } = await elsewhere()
  const visitor = visit(createAuth(settings))
  const accept = { accept: 'text/html,*/*' }
  const start = await visitor.ask('/auth/service/start?returnTo=/level')
  const back = await approved(platform, player, String(start.headers.get('location')))
  t.equal((await visitor.ask(back)).headers.get('location'), '/level')
  t.equal((await visitor.ask(back)).headers.get('location'), '/', 'it leads on')
  await visitor.ask('/auth/service/logout')
  const over = await visitor.ask(back, { headers: accept })
  t.equal(over.status, 400)
  t.match(over.headers.get('content-type'), /^text\/html/)
  t.match(await over.text(), /took longer than ten minutes.*href="\/auth\/service\/start"/s)
  t.match(await (await visitor.ask(back)).json(), { error: { code: 'sign_in_failed', message: /is finished/ } })

  const again = await visitor.ask('/auth/service/start')
  const state = new URL(String(again.headers.get('location'))).searchParams.get('state') ?? ''
  const refused = new URLSearchParams({ state, error: 'server_error', error_description: '<b>Out of tea</b>' })
  const page = await (await visitor.ask(`${CALLBACK}?${refused}`, { headers: accept })).text()
  t.match(page, 'refused the sign-in: server_error (&lt;b&gt;Out of tea&lt;/b&gt;)')
})

t.test('a session that is used after a day is renewed, and ends a week after its last use', async (t) => {
  let time = Date.now()
  const { player, settings } = await elsewhere({ url: 'https://relay.example', now: () => new Date(time) })
  const visitor = visit(createAuth(settings))
  await visitor.signIn(platform, player)
  const first = visitor.cookies.get('__Host-service_session')
  time += 23 * 3600_000
  await visitor.session()
  t.equal(visitor.cookies.get('__Host-service_session'), first, 'not within a day')
  for (let week = 0; week < 3; week++) {
    time += 6 * 24 * 3600_000
    t.match(await visitor.session(), { signedIn: true, user: { id: player.id, name: 'Ada' } })
  }
  time += 8 * 24 * 3600_000
  t.same(await visitor.session(), { signedIn: false })
})

t.test('a link that is fetched in advance signs nobody out, and begins nothing', async (t) => {
  const { player, settings } = await elsewhere()
  const visitor = visit(createAuth(settings))
  await visitor.signIn(platform, player)
  for (const headers of [
    { 'sec-purpose': 'prefetch;prerender' },
    { purpose: 'prefetch' },
    { 'next-router-prefetch': '1' },
  ])
    for (const path of ['/auth/service/logout', '/auth/service/start']) {
      const answer = await visitor.ask(path, { headers })
      t.same([answer.status, answer.headers.getSetCookie()], [403, []], `${path} ${JSON.stringify(headers)}`)
    }
  t.match(await visitor.session(), { signedIn: true })
})

t.test('settings with a line break at their end, and the oldest of too many flows', async (t) => {
  const { player, settings } = await elsewhere()
  const pasted = { ...settings, clientSecret: `${settings.clientSecret}\n`, clientId: ` ${settings.clientId}\r\n` }
  const visitor = visit(createAuth({ ...pasted, baseUrl: `${settings.baseUrl}/ ` }))
  const started = []
  for (let flow = 0; flow < 10; flow++) started.push(await visitor.ask(`/auth/service/start?returnTo=/${flow}`))
  t.equal(visitor.cookies.size, 8)
  const back = await approved(platform, player, String(started[2]?.headers.get('location')))
  t.equal((await visitor.ask(back)).headers.get('location'), '/2')
})

t.test('players are sent nowhere but back into the game', async (t) => {
  const { settings } = await elsewhere()
  const visitor = visit(createAuth(settings))
  for (const [wanted, location] of [
    ...SAFE_PATHS,
    ...HOSTILE_PATHS.map((path) => [path, '/'] as const),
    ['/auth/service/logout', '/'],
    [`/${'a'.repeat(3000)}`, '/'],
  ] as const) {
    const path = `/auth/service/logout?returnTo=${encodeURIComponent(wanted)}`
    const answer = await visitor.ask(path, { headers: { accept: 'text/html' } })
    t.equal(answer.headers.get('location'), location, JSON.stringify(wanted))
  }
})

t.test('other methods, unknown addresses and service workers are refused; other paths are the game’s', async (t) => {
  const { settings } = await elsewhere()
  const auth = createAuth(settings)
  const visitor = visit(auth)
  for (const [method, path, status, allow] of [
    ['POST', '/auth/service/start', 405, 'GET'],
    ['DELETE', '/auth/service/session', 405, 'GET'],
    ['PUT', '/auth/service/logout', 405, 'GET, POST'],
    ['GET', '/auth/service/nothing', 404, null],
    ['GET', '/auth/service/constructor', 404, null],
    ['GET', '/auth/service/', 404, null],
  ] as const) {
    const answer = await visitor.ask(path, { method })
    t.equal(answer.status, status, `${method} ${path}`)
    t.equal(answer.headers.get('allow'), allow)
  }
  const worker = await visitor.ask('/auth/service/start', { headers: { 'service-worker': 'script' } })
  t.equal(worker.status, 403)
  for (const path of ['/', '/auth', '/auth/service', '/level/2']) {
    t.equal(await auth.handle(new Request(new URL(path, GAME_ORIGIN))), null, path)
  }
  let cookie = ''
  for (let count = 0; count < 10; count++)
    cookie += `${nameOf(settings, 'state')}_${String(count).padStart(22, 'x')}=y; `
  const cleared = (await visitor.ask('/auth/service/start', { headers: { cookie } })).headers.getSetCookie()
  t.equal(
    cleared.filter((line) => /^service_state_[^=]+_x.*Max-Age=0/.test(line)).length,
    6,
    'the three oldest flows go, each in both forms',
  )
})

t.test('settings that cannot work are refused, all at once, with what to do', async (t) => {
  const problem = (settings: AuthSettings) => {
    try {
      createAuth(settings)
      return null
    } catch (error) {
      t.ok(error instanceof AuthSettingsError)
      return (error as Error).message
    }
  }
  const good = { clientId: 'a', clientSecret: 'b', sessionSecret: SECRET, redirectUri: `https://x.example${CALLBACK}` }
  const none = problem({})
  for (const name of ['CLIENT_ID', 'CLIENT_SECRET', 'SESSION_SECRET', 'REDIRECT_URI', 'BASE_URL']) {
    t.match(none, `SERVICE_${name}`)
  }
  t.equal(problem({ ...good, baseUrl: 'https://yard.example' }), null)
  t.match(problem(good), /baseUrl is missing/, 'a game on the internet does not sign in at localhost')
  t.equal(problem({ ...good, redirectUri: `http://localhost:3000${CALLBACK}` }), null, 'one on this machine does')
  const bad = (changes: AuthSettings) => problem({ ...good, baseUrl: 'https://yard.example', ...changes })
  t.match(bad({ sessionSecret: 's'.repeat(31) }), /has 31 bytes and needs 32/)
  t.equal(bad({ sessionSecret: 'é'.repeat(16) }), null, 'bytes count, not letters')
  t.match(bad({ redirectUri: 'https://x.example/callback' }), /must be a whole address that ends in/)
  t.match(bad({ redirectUri: CALLBACK }), /must be a whole address/)
  t.match(bad({ redirectUri: `https://x.example//evil.example${CALLBACK}` }), /must be a whole address/)
  t.match(bad({ redirectUri: `https://x.example/pong/${CALLBACK}` }), /must be a whole address/)
  t.equal(bad({ redirectUri: `https://x.example/pong${CALLBACK}/` }), null, 'frameworks may end paths with a slash')
  t.match(bad({ baseUrl: 'yard.example' }), /baseUrl is yard.example/)
  t.match(bad({ sessionSeconds: 0.5 }), /sessionSeconds/)
  t.notMatch(bad({ sessionSecret: 'short and secret' }), 'short and secret', 'the secret is not repeated')
})

t.test('a game below a path of its origin is returned to there, and has its own cookies', async (t) => {
  for (const origin of ['http://arcade.localhost:3000', 'https://arcade.example']) {
    const redirectUri = `${origin}/pong${CALLBACK}`
    const { player, settings } = await elsewhere({ url: origin, redirectUri })
    const program = await platform.program(player)
    const made = await program.post('/api/oauth/apps', { name: 'Pong', redirectUris: [redirectUri] })
    const { clientId, clientSecret } = made.body
    const own = { ...settings, clientId, clientSecret }
    const auth = createAuth(own)
    t.equal(auth.path, '/pong')
    const visitor = visit(auth)
    const back = await visitor.signIn(platform, player, '/pong/auth/service/start')
    t.equal(back.headers.get('location'), '/pong/', 'the first page of the game, not of its origin')
    t.match(
      await (await visitor.ask('/pong/auth/service/session/')).json(),
      { signedIn: true },
      'with a slash at its end',
    )
    const name = `${origin.startsWith('https:') ? '__Host-' : ''}${nameOf(own)}`
    t.same([...visitor.cookies.keys()], [name], 'which another game of the origin does not overwrite')
    if (origin.startsWith('https:')) {
      const former = new Headers({ cookie: `__Host-service_session=${visitor.cookies.get(name)}` })
      t.match(await auth.getSession(former), { signedIn: true }, 'the name of earlier versions')
    }
    const html = { accept: 'text/html' }
    const again = await visitor.ask(`/pong${CALLBACK}?state=x`, { headers: html })
    t.equal(again.headers.get('location'), '/pong/', 'a page that is reloaded after the sign-in')
    const out = await visitor.ask('/pong/auth/service/logout', { headers: html })
    t.equal(out.headers.get('location'), '/pong/')
    const over = await visitor.ask(`/pong${CALLBACK}?state=x`, { headers: html })
    t.match(await over.text(), /href="\/pong\/auth\/service\/start".*href="\/pong\/"/)
    const framed = await visitor.ask(`/pong${CALLBACK}?state=x`, { headers: { 'sec-fetch-dest': 'iframe' } })
    t.equal(framed.headers.get('location'), '/pong/')
    for (const [wanted, location] of [
      ['/pong/level?x=1', '/pong/level?x=1'],
      ...HOSTILE_PATHS.map((path) => [path, '/pong/'] as const),
    ] as const) {
      const path = `/pong/auth/service/logout?returnTo=${encodeURIComponent(wanted)}`
      t.equal((await visitor.ask(path, { headers: html })).headers.get('location'), location, JSON.stringify(wanted))
    }
  }
})

t.test('with Fastify the routes follow redirectUri and the prefix, or the start is refused', async (t) => {
  const { settings } = await elsewhere()
  const found = async (options: AuthSettings & { prefix?: string }, outer?: string) => {
    const app = Fastify()
    t.teardown(() => app.close())
    if (outer) await app.register((scope) => scope.register(gameAuth, options), { prefix: outer })
    else await app.register(gameAuth, options)
    const paths = ['/auth/service/session', '/pong/auth/service/session', '/arcade/pong/auth/service/session']
    const answers = await Promise.all(paths.map((path) => app.inject(path)))
    return answers.map(({ statusCode }) => statusCode)
  }
  const at = (path: string, prefix?: string) => ({
    ...settings,
    redirectUri: GAME_ORIGIN + path + CALLBACK,
    ...(prefix === undefined ? {} : { prefix }),
  })
  t.same(await found(at('')), [200, 404, 404])
  t.same(await found(at('/pong')), [200, 200, 404], 'a proxy may remove the path')
  t.same(await found(at('/pong', '/pong')), [404, 200, 404])
  t.same(await found(at('/pong', '/pong/')), [404, 200, 404])
  t.same(await found(at('/pong'), '/pong'), [404, 200, 404], 'a prefix of the plugin around it')
  t.same(await found(at('/arcade/pong', '/pong'), '/arcade'), [404, 404, 200])
  t.same(await found(at('/arcade/pong', '/pong')), [404, 200, 404], 'of which a proxy removes a part')
  const sentence = 'The sign-in routes are below /pong/, so redirectUri must end in /pong/auth/service/callback.'
  for (const path of ['', '/duo', '/pong/duo'])
    await t.rejects(found(at(path, '/pong')), new AuthSettingsError(sentence))
  await t.rejects(found(at(''), '/pong'), new AuthSettingsError(sentence))
})

t.test('the same in plain Node, Fastify and Hono', async (t) => {
  const { player, settings } = await elsewhere()
  const middleware = forNode(settings)
  const server = createServer(async (request, response) => {
    await middleware(request, response, async () => response.end(JSON.stringify(await middleware.getSession(request))))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const fastify = Fastify()
  t.teardown(() => fastify.close())
  await fastify.register(gameAuth, settings)
  fastify.get('/api/me', (request) => fastify.gameAuth.getSession(request))
  await fastify.listen({ host: '127.0.0.1', port: 0 })
  const hono = new Hono()
  const auth = forHono(settings)
  hono.use(auth)
  hono.get('/api/me', async (context) => context.json(await auth.getSession(context.req.raw)))

  for (const [name, answer] of [
    ['node:http', proxyTo((server.address() as AddressInfo).port)],
    ['Fastify', proxyTo((fastify.server.address() as AddressInfo).port)],
    ['Hono', async (request: Request) => hono.request(request)],
  ] as const) {
    const visitor = new GameVisitor(answer)
    const back = await visitor.signIn(platform, player, '/auth/service/start?returnTo=/x')
    t.equal(back.headers.get('location'), '/x', name)
    t.match(await visitor.session(), { signedIn: true, user: { name: 'Ada' } })
    t.match(await (await visitor.ask('/api/me')).json(), { signedIn: true, user: { id: player.id } }, "the game's own")
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    t.same(await (await visitor.ask('/auth/service/logout', { method: 'POST', headers })).json(), { signedIn: false })
    t.same(await visitor.session(), { signedIn: false })
    t.equal((await visitor.ask('/auth/service/start', { method: 'POST' })).status, 405)
    t.equal((await visitor.ask('/auth/service/nothing')).status, 404)
  }
})
