import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import type { Bus } from '../../../core/events.ts'
import { Auth } from '../../../core/http/auth.ts'
import { installErrorHandlers } from '../../../core/http/error-handler.ts'
import { type RateLimiter, registerRateLimits } from '../../../core/http/rate-limit.ts'
import { installRouteContract, RouteTable } from '../../../core/http/routes.ts'
import { Origins } from '../../../core/origins/origins.ts'
import local from '../../../drivers/bus/local.ts'
import redis from '../../../drivers/bus/redis.ts'
import { captureLog, driverContext, manualClock } from '../../kit/driver-context.ts'
import { needsRedis, startRedis } from '../../kit/redis.ts'

const MINUTE = 60_000
const PORTAL = 'play.test'
const GAME = 'pong.games.test'

/** Starts the kernel without plugins: route contract, auth, origins and the rate limits on them. */
async function startApp(t: Test, options: { bus?: Bus; max?: number; enabled?: boolean } = {}) {
  const clock = manualClock()
  const { log, lines } = captureLog()
  const bus = options.bus ?? (await local.create({}, driverContext({ clock })))
  const origins = new Origins({
    portal: { url: `http://${PORTAL}`, formerUrls: [], name: 'Gameyard', legal: {}, designPage: false },
    studio: { url: `http://${PORTAL}` },
    games: { domain: 'games.test', formerDomains: [], origins: 'subdomain', publish: 'open', allowSameSite: false },
  })
  const app = Fastify({
    loggerInstance: log,
    disableRequestLogging: true,
    routerOptions: { constraints: { origin: origins.constraint() } as never },
  }) as unknown as FastifyInstance
  app.decorateRequest('principal', null)
  app.decorate('auth', new Auth(origins))
  app.decorate('routeTable', new RouteTable(origins.shared))
  app.auth.recognise({
    credential: 'bearer',
    claims: () => true,
    authenticate: (token) => {
      const [kind, playerId] = token.split('.')
      if (kind !== 'api-token' && kind !== 'cli-token') return null
      return { kind, playerId: String(playerId), credentialId: token, scopes: new Set<string>() }
    },
  })
  app.decorate('origins', origins)
  installRouteContract(app)
  installErrorHandlers(app)
  const limits = { rateLimits: options.enabled ?? true, requestsPerMinute: options.max ?? 3 }
  await registerRateLimits(app, { bus, clock, origins, limits })

  const portal = { constraints: { origin: 'portal' } as never }
  app.get('/open', { ...portal, config: { auth: 'none' } }, async () => 'open')
  app.get('/mine', { ...portal, config: { auth: 'any-token' } }, async (request) => request.principal?.playerId)
  app.get('/scoped', { ...portal, config: { auth: { scope: 'games:write' } } }, async () => 'scoped')
  app.get('/door', { ...portal, config: { auth: 'none', rateLimitGroup: 'door' } }, async () => 'door')
  app.get('/style.css', { ...portal, config: { auth: 'none', rateLimit: false } }, async () => 'css')
  app.post(
    '/token',
    { ...portal, config: { auth: 'none', rateLimit: { max: 1, timeWindow: MINUTE, keyGenerator: clientOf } } },
    async () => 'token',
  )
  app.get('/healthz', { constraints: { origin: 'any' } as never, config: { auth: 'none' } }, async () => 'ok')
  app.get('/*', { constraints: { origin: 'game' } as never, config: { auth: 'none' } }, async () => 'a file')
  await app.ready()
  t.teardown(() => app.close())

  const ask = async (url: string, { token, host = PORTAL, ip = '192.0.2.1', client, method = 'GET' }: Ask = {}) => {
    const headers = {
      host,
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(client ? { 'x-client': client } : {}),
    }
    const answer = await app.inject({ url, method: method as 'GET', headers, remoteAddress: ip })
    return { status: answer.statusCode, headers: answer.headers, body: answer.body }
  }
  const statuses = async (count: number, url: string, how?: Ask) => {
    const all: number[] = []
    for (let index = 0; index < count; index++) all.push((await ask(url, how)).status)
    return all
  }
  return { app, ask, statuses, clock, lines, bus }
}

interface Ask {
  token?: string
  host?: string
  ip?: string
  client?: string
  method?: string
}

const clientOf = (request: { headers: Record<string, unknown> }) => String(request.headers['x-client'])

t.test('a group of routes is counted apart from the others', async (t) => {
  const { statuses } = await startApp(t)
  t.same(await statuses(4, '/open'), [200, 200, 200, 429])
  t.same(await statuses(4, '/door'), [200, 200, 200, 429], 'it has a limit of its own')
  t.same(await statuses(1, '/open', { ip: '192.0.2.2' }), [200])
})

t.test('the answer counts down, the request beyond the limit is refused, and the next minute is free', async (t) => {
  const { ask, clock } = await startApp(t)
  for (const remaining of ['2', '1', '0']) {
    const { status, headers } = await ask('/open')
    t.equal(status, 200)
    t.match(headers, { 'ratelimit-limit': '3', 'ratelimit-remaining': remaining, 'ratelimit-reset': '60' })
    t.notOk('x-ratelimit-limit' in headers || 'retry-after' in headers)
  }
  clock.advance(20_500)
  const refused = await ask('/open')
  t.equal(refused.status, 429)
  t.match(refused.headers, {
    'ratelimit-limit': '3',
    'ratelimit-remaining': '0',
    'ratelimit-reset': '40',
    'retry-after': '40',
  })
  t.same(JSON.parse(refused.body), {
    error: { message: 'Too many requests; try again in 40 seconds.', code: 'rate_limited' },
  })
  clock.advance(39_500)
  t.equal((await ask('/open')).status, 200)
})

t.test('callers are told apart by player and kind of credential, and by address without one', async (t) => {
  const { statuses } = await startApp(t)
  t.same(await statuses(4, '/mine', { token: 'api-token.ada' }), [200, 200, 200, 429])
  t.same(await statuses(1, '/mine', { token: 'api-token.ada', ip: '192.0.2.9' }), [429], 'whatever the address')
  t.same(await statuses(1, '/mine', { token: 'cli-token.ada' }), [200])
  t.same(await statuses(1, '/mine', { token: 'api-token.bob' }), [200])
  t.same(await statuses(4, '/open'), [200, 200, 200, 429], 'the address has a count of its own')
  t.same(await statuses(1, '/open', { ip: '192.0.2.2' }), [200])
})

t.test('addresses of one IPv6 /64 are one caller, and a mapped IPv4 address is its IPv4 address', async (t) => {
  const { statuses } = await startApp(t)
  await statuses(2, '/open', { ip: '2001:db8:1:2::1' })
  t.same(await statuses(2, '/open', { ip: '2001:db8:1:2:ffff::9' }), [200, 429])
  t.same(await statuses(1, '/open', { ip: '2001:db8:1:3::1' }), [200])
  await statuses(3, '/open', { ip: '192.0.2.7' })
  t.same(await statuses(1, '/open', { ip: '::ffff:192.0.2.7' }), [429])
})

t.test('whoever authentication refuses is counted too', async (t) => {
  const { statuses } = await startApp(t)
  t.same(await statuses(4, '/mine', { token: 'guess' }), [401, 401, 401, 429])
  t.same(await statuses(4, '/scoped', { token: 'api-token.ada' }), [403, 403, 403, 429])
})

t.test('addresses that do not exist are counted, together with those that do', async (t) => {
  const { ask, statuses } = await startApp(t)
  t.same(await statuses(3, '/.env'), [404, 404, 404])
  t.equal((await ask('/wp-login.php')).status, 429)
  t.equal((await ask('/open')).status, 429)
  t.equal((await ask('/open', { method: 'DELETE' })).status, 429)
})

t.test("games' files, health checks and routes that say so are never limited", async (t) => {
  const { ask } = await startApp(t, { max: 1 })
  for (const [url, host] of [
    ['/index.html', GAME],
    ['/healthz', PORTAL],
    ['/healthz', GAME],
    ['/style.css', PORTAL],
  ] as const) {
    for (let count = 0; count < 3; count++) {
      const { status, headers } = await ask(url, { host })
      t.equal(status, 200, `${host}${url}`)
      t.notOk('ratelimit-limit' in headers)
    }
  }
  t.equal((await ask('/nowhere', { host: GAME, method: 'POST' })).status, 405)
  t.equal((await ask('/open')).status, 200, 'and none of it was counted')
})

t.test("a route's own limit counts by its own key, beside the general one", async (t) => {
  const { ask, statuses } = await startApp(t, { max: 4 })
  const post = { method: 'POST' }
  t.same(await statuses(2, '/token', { ...post, client: 'one' }), [200, 429])
  const other = await ask('/token', { ...post, client: 'two' })
  t.equal(other.status, 200)
  t.equal(other.headers['ratelimit-limit'], '1', 'the answer tells of the stricter limit')
  const refused = await ask('/token', { ...post, client: 'two' })
  t.match(JSON.parse(refused.body), { error: { code: 'rate_limited' } })
  t.match(refused.headers, { 'retry-after': '60' })
  t.same(await statuses(1, '/token', { ...post, client: 'three' }), [429], 'the general limit is used up')
})

t.test('`limits.rateLimits: false` turns every limit off', async (t) => {
  const { app, statuses } = await startApp(t, { max: 1, enabled: false })
  t.same(await statuses(3, '/open'), [200, 200, 200])
  t.same(await statuses(2, '/missing'), [404, 404])
  t.same(await statuses(2, '/token', { method: 'POST', client: 'one' }), [200, 200])
  for (let count = 0; count < 3; count++) await app.rateLimiter.take('key', 1, MINUTE)
})

t.test('a service takes permits by a key of its own', async (t) => {
  const { app, clock } = await startApp(t)
  const signIn = (account: string) => app.rateLimiter.take(`sign-in/${account}/192.0.2.1`, 2, MINUTE)
  await signIn('ada')
  await signIn('ada')
  clock.advance(15_000)
  await t.rejects(signIn('ada'), { statusCode: 429, message: /again in 45 seconds/ })
  await signIn('bob')
  clock.advance(45_000)
  await signIn('ada')
})

t.test('while the bus is away each node keeps to the limit by itself and says so once a minute', async (t) => {
  const bus = await local.create({}, driverContext())
  const { statuses, clock, lines } = await startApp(t, { bus })
  await bus.close()
  t.same(await statuses(4, '/open'), [200, 200, 200, 429])
  const told = () => lines().filter(({ level }) => level === 'warn')
  t.match(told(), [{ msg: /this node counts rate limits alone/ }])
  t.equal(told().length, 1)
  clock.advance(MINUTE)
  t.same(await statuses(2, '/open'), [200, 200])
  t.equal(told().length, 2)
})

t.test('two nodes on one Redis keep one count', needsRedis, async (t) => {
  const server = await startRedis(t)
  const open = async () => {
    const bus = await redis.create({ url: server.url, keyPrefix: 'gameyard:' }, driverContext())
    t.teardown(() => bus.close())
    return bus
  }
  const [one, two] = [await startApp(t, { bus: await open() }), await startApp(t, { bus: await open() })]
  t.same(await one.statuses(2, '/open'), [200, 200])
  t.same(await two.statuses(2, '/open'), [200, 429])
  t.same(await one.statuses(1, '/open'), [429])

  const limiters = [one.app.rateLimiter, two.app.rateLimiter] as [RateLimiter, RateLimiter]
  const tries = Array.from({ length: 40 }, (_, index) => (limiters[index % 2] as RateLimiter).take('race', 10, MINUTE))
  const taken = (await Promise.allSettled(tries)).filter(({ status }) => status === 'fulfilled')
  t.equal(taken.length, 10)
})
