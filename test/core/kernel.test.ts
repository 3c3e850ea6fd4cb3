import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { defineEntity, p } from '@mikro-orm/core'
import type { FastifyInstance, InjectOptions } from 'fastify'
import t from 'tap'
import Type from 'typebox'
import { defineError, NotFound } from '../../core/errors.ts'
import { definePlugin, PLATFORM, type Plugin } from '../../core/plugin.ts'
import { captureLog } from '../kit/driver-context.ts'
import { startKernel } from '../kit/kernel.ts'
import { until } from '../kit/until.ts'

const plugin = (
  name: string,
  manifest: object = {},
  register: (app: FastifyInstance) => Promise<void> = async () => {},
) => definePlugin({ name, ...manifest }, register)

const Note = defineEntity({ name: 'Note', tableName: 'notes', properties: { id: p.string().primary() } })
const Memo = defineEntity({ name: 'Memo', tableName: 'notes', properties: { id: p.string().primary() } })

t.test('a plugin that breaks its contract stops the start with one sentence that names it and the fix', async (t) => {
  const route = (options: object) => async (app: FastifyInstance) => {
    app.get('/x', options as never, async () => 'x')
  }
  const cases: [string, Plugin[], RegExp][] = [
    [
      'a missing dependency',
      [plugin('rooms', { dependencies: ['games'] })],
      /plugin rooms needs the plugin games, which is not there; add it or turn rooms off/,
    ],
    [
      'a circle of dependencies',
      [plugin('hen', { dependencies: ['egg'] }), plugin('egg', { dependencies: ['hen'] })],
      /hen -> egg -> hen depend on each other in a circle/,
    ],
    ['two plugins of one name', [plugin('notes'), plugin('notes')], /two plugins named notes/],
    [
      'two owners of one table',
      [plugin('notes', { entities: [Note] }), plugin('memos', { entities: [Memo] })],
      /notes and memos both own the table notes; rename one/,
    ],
    [
      'two owners of one limit',
      [
        plugin('a', { limits: { size: Type.Integer({ default: 1 }) } }),
        plugin('b', { limits: { size: Type.Integer({ default: 2 }) } }),
      ],
      /limit `size` is claimed by both the plugin a and the plugin b; rename one/,
    ],
    [
      'a route without auth',
      [plugin('open', {}, route({ constraints: { origin: 'portal' } }))],
      /route GET(,HEAD)? \/x has no `auth`; say who may call it/,
    ],
    [
      'a route without origin',
      [plugin('lost', {}, route({ config: { auth: 'none' } }))],
      /route GET(,HEAD)? \/x has no origin; say where it lives/,
    ],
    [
      'one path twice at a shared origin',
      [
        plugin('one', {}, route({ config: { auth: 'none' }, constraints: { origin: 'portal' } })),
        plugin('two', {}, route({ config: { auth: 'none' }, constraints: { origin: 'studio' } })),
      ],
      /declared twice at one origin/,
    ],
  ]
  for (const [name, plugins, sentence] of cases) {
    const error = await startKernel(t, { plugins }).then(
      () => new Error('it started'),
      (reason: Error) => reason,
    )
    t.match(error.message, sentence, name)
    t.equal(error.name, 'StartupError', `${name} is told without a stack`)
  }
})

const STATEMENTS = ['create table kept (id text)']
const KEPT = { name: '2026_11_21_kept', sqlite: STATEMENTS, postgres: STATEMENTS }

t.test('a database is as it was when a plugin has broken its contract', async (t) => {
  const folder = t.testdir()
  const config = { dataDir: join(folder, 'data'), database: { driver: 'sqlite', file: join(folder, 'yard.db') } }
  const kept = plugin('kept', { migrations: [KEPT] })
  const broken = plugin('broken', {}, async (app) => {
    app.get('/x', async () => 'x')
  })
  await t.rejects(startKernel(t, { config, plugins: [kept, broken] }), { message: /has no `auth`/ })
  const tables = () => {
    const database = new DatabaseSync(join(folder, 'yard.db'))
    const rows = database.prepare("select name from sqlite_master where type = 'table'").all()
    database.close()
    return rows.map(({ name }) => name)
  }
  t.same(tables(), [], 'nothing of it was migrated')
  await (await startKernel(t, { config, plugins: [kept] })).close()
  t.ok(tables().includes('kept'))
})

t.test('a program without its built files writes nothing before it stops', async (t) => {
  const dataDir = join(t.testdir(), 'data')
  const browserFiles = async () => null
  await t.rejects(startKernel(t, { config: { dataDir, database: { driver: 'sqlite' } }, browserFiles }), {
    name: 'StartupError',
    message: /npm run build:browser/,
  })
  t.notOk(existsSync(dataDir), 'no data folder, and so no database that was migrated')
})

t.test('plugins start in the order of their dependencies, whatever the order of the list', async (t) => {
  const order: string[] = []
  const noting = (name: string, dependencies: string[]) =>
    plugin(name, { dependencies }, async () => {
      order.push(name)
    })
  await startKernel(t, { plugins: [noting('c', ['b']), noting('a', []), noting('b', ['a'])] })
  t.same(order, ['a', 'b', 'c'])
})

const echo = plugin('echo', {}, async (app) => {
  app.post(
    '/api/echo',
    {
      config: { auth: 'none' },
      constraints: { origin: 'portal' },
      schema: { body: Type.Object({ count: Type.Integer(), note: Type.Optional(Type.String()) }) },
    },
    async (request) => request.body,
  )
  app.get(
    '/api/echo',
    {
      config: { auth: 'none' },
      constraints: { origin: 'portal' },
      schema: { querystring: Type.Object({ count: Type.Integer() }) },
    },
    async (request) => request.query,
  )
  app.get('/api/broken', { config: { auth: 'none' }, constraints: { origin: 'portal' } }, async () => {
    throw new Error('password=hunter2 at /home/someone')
  })
  app.get('/api/locked', { config: { auth: 'any-token' }, constraints: { origin: 'portal' } }, async () => 'in')
  app.get('/here', { config: { auth: 'none' }, constraints: { origin: 'game' } }, async () => 'game')
})

const pages = plugin('pages', {}, async (app) => {
  const options = { config: { auth: 'none', page: true }, constraints: { origin: 'portal' } } as const
  app.get('/hall', options, async () => 'hall')
  for (const url of ['/hall/:room', '/:wing/:room'])
    app.get<{ Params: { room: string } }>(url, options, async ({ params }) => {
      if (params.room !== 'north') throw new NotFound('room')
      return 'room'
    })
  app.post('/hall/:room/leave', options, async () => 'gone')
})

const portal = { host: 'localhost:8080' }

t.test('every refusal has the one error shape', async (t) => {
  const app = await startKernel(t, { plugins: [echo] })
  const json = (body: string, type = 'application/json') => ({
    method: 'POST' as const,
    url: '/api/echo',
    headers: { ...portal, 'content-type': type },
    body,
  })
  const cases: [string, InjectOptions, number, object][] = [
    [
      'a number as text is not coerced',
      json('{"count":"1"}'),
      400,
      { error: { code: 'invalid_request', details: [{ path: 'count' }] } },
    ],
    [
      'an unknown field is named',
      json('{"count":1,"cuont":2}'),
      400,
      { error: { details: [{ path: 'cuont', message: 'is not a known field' }] } },
    ],
    ['a missing field is named', json('{}'), 400, { error: { details: [{ path: 'count', message: 'is required' }] } }],
    ['a body that is not JSON', json('count=1'), 400, { error: { code: 'invalid_request' } }],
    [
      'a body that poisons prototypes',
      json('{"count":1,"__proto__":{"admin":true}}'),
      400,
      { error: { code: 'invalid_request' } },
    ],
    ['plain text', json('hello', 'text/plain'), 415, { error: { code: 'unsupported_media_type' } }],
    [
      'a body beyond the limit',
      json(`{"note":"${'x'.repeat(1_100_000)}"}`),
      413,
      { error: { code: 'payload_too_large' } },
    ],
    ['an unknown path', { url: '/api/nothing', headers: portal }, 404, { error: { code: 'not_found' } }],
    [
      'a wrong method',
      { method: 'DELETE', url: '/api/echo', headers: portal },
      405,
      { error: { code: 'method_not_allowed' } },
    ],
    ['a game route asked of the portal', { url: '/here', headers: portal }, 404, { error: { code: 'not_found' } }],
    [
      'an unknown host',
      { url: '/api/echo', headers: { host: 'evil.test' } },
      421,
      { error: { code: 'misdirected_request' } },
    ],
    ['a malformed host', { url: '/api/echo', headers: { host: 'a@b' } }, 400, { error: { code: 'invalid_request' } }],
    ['no token', { url: '/api/locked', headers: portal }, 401, { error: { code: 'unauthorized' } }],
  ]
  for (const [name, request, status, body] of cases) {
    const answer = await app.inject(request)
    t.equal(answer.statusCode, status, name)
    t.match(answer.json(), body, name)
    t.type(answer.json().error.message, 'string', name)
    t.ok(answer.headers['x-request-id'], name)
  }
  const wrong = await app.inject({ method: 'DELETE', url: '/api/echo', headers: portal })
  t.equal(wrong.headers.allow, 'GET, HEAD, POST')
  t.match((await app.inject({ url: '/api/locked', headers: portal })).headers, { 'www-authenticate': 'Bearer' })
})

t.test('a slash at the end of the address of a page leads to the page', async (t) => {
  const app = await startKernel(t, { plugins: [pages] })
  const browser = { ...portal, accept: 'text/html' }
  const asked = async (url: string, method: 'GET' | 'POST' = 'GET', from: Record<string, string> = browser) => {
    const { statusCode, headers } = await app.inject({ method, url, headers: from })
    return [statusCode, headers.location]
  }
  t.same(await asked('/hall/'), [308, '/hall'])
  t.same(await asked('/hall/?q=a/&b=?'), [308, '/hall?q=a/&b=?'])
  t.same(await asked('/hall/north/'), [308, '/hall/north'])
  for (const url of ['/nowhere/', '//hall/', '/\\hall/', '/%2f%2fevil.test/', '//evil.test/hall/'])
    t.equal((await asked(url))[0], 404, url)
  t.equal((await asked('/hall/north/', 'GET', portal))[0], 404, 'a program hears that the address is wrong')
  t.equal((await asked('/hall/north/', 'POST'))[0], 404, 'nor is a form sent elsewhere')
})

t.test('a query has no types, so there a number may be text', async (t) => {
  const app = await startKernel(t, { plugins: [echo] })
  t.same((await app.inject({ url: '/api/echo?count=3', headers: portal })).json(), { count: 3 })
})

t.test('what broke inside stays inside', async (t) => {
  const app = await startKernel(t, { plugins: [echo] })
  const answer = await app.inject({ url: '/api/broken', headers: portal })
  t.equal(answer.statusCode, 500)
  t.match(answer.json(), { error: { code: 'internal' } })
  t.notMatch(answer.body, /hunter2|someone/)
  t.match(answer.json().error.message, answer.headers['x-request-id'], 'the log can be found by the id')
})

t.test('the log tells a fault from a limit', async (t) => {
  const Full = defineError('full', 507, 'There is no room left for you.')
  const failing = plugin('failing', {}, async (app) => {
    const options = { config: { auth: 'none' }, constraints: { origin: 'portal' } } as const
    app.get('/api/full', options, async () => {
      throw new Full()
    })
    app.get('/api/away', options, async () => {
      throw new Full().with({ cause: new Error('connect ECONNREFUSED') })
    })
  })
  const { log, lines } = captureLog()
  const app = await startKernel(t, { plugins: [echo, failing], log })
  for (const path of ['full', 'away', 'broken']) await app.inject({ url: `/api/${path}`, headers: portal })
  t.match(
    lines().filter(({ msg }) => msg === 'request failed'),
    [
      { level: 'warn', error: 'full', reason: 'There is no room left for you.' },
      { level: 'error', err: { stack: /ECONNREFUSED/ } },
      { level: 'error', err: { stack: /./ } },
    ],
  )
})

t.test('running jobs end before the plugins whose parts they use', async (t) => {
  const order: string[] = []
  const working = plugin('working', {}, async (app) => {
    app.jobs.handle('long', async ({ signal }) => {
      order.push('begins')
      await once(signal, 'abort')
      order.push('ends')
    })
    app.addHook('onClose', async () => void order.push('plugin'))
  })
  const app = await startKernel(t, { plugins: [working] })
  await app.jobs.enqueue(app.db.em(), { owner: PLATFORM, name: 'long' })
  await until(() => order.length > 0)
  await app.close()
  t.same(order, ['begins', 'ends', 'plugin'])
})

t.test('malformed credentials are refused, never a server error', async (t) => {
  const app = await startKernel(t, { plugins: [echo] })
  const values = [
    '',
    ' ',
    'Bearer',
    'Bearer ',
    'bearer',
    'Bearer x',
    'Bearer x y',
    'Bearer\tx',
    'Bearer svc_api_',
    'Bearer ü',
    'Basic',
    'Basic !!!',
    'Basic dXNlcjpwYXNz',
    'Digest username="x"',
    'Bearer ===',
    'Bearer ..',
    `Bearer ${'a'.repeat(7000)}`,
    'Bearer null',
    'Bearer undefined',
    'Negotiate abc',
    'Token abc',
    ',',
    '\\',
    'Bearer {}',
  ]
  for (const authorization of values) {
    const { statusCode } = await app.inject({ url: '/api/locked', headers: { ...portal, authorization } })
    t.ok(statusCode === 400 || statusCode === 401, `${JSON.stringify(authorization.slice(0, 30))}: ${statusCode}`)
  }
})

t.test('pages reached by number are sent to the portal; health answers on any Host', async (t) => {
  const app = await startKernel(t)
  const byNumber = await app.inject({ url: '/', headers: { host: '127.0.0.1:8080', accept: 'text/html' } })
  t.match(byNumber, { statusCode: 302, headers: { location: 'http://localhost:8080/' } })
  for (const host of ['127.0.0.1:8080', 'anything.test', 'pong.localhost:8080', 'localhost:8080']) {
    t.same((await app.inject({ url: '/healthz', headers: { host } })).json(), { status: 'ok' }, host)
    t.match(
      (await app.inject({ url: '/readyz', headers: { host } })).json(),
      { status: 'ready', checks: { database: 'ok' } },
      host,
    )
  }
})

t.test('metrics are for this machine or the configured token', async (t) => {
  const app = await startKernel(t, { config: { metrics: { token: 'a-metrics-token' } } })
  const ask = (remoteAddress: string, headers: object = {}) =>
    app.inject({ url: '/metrics', remoteAddress, headers: { ...portal, ...headers } })
  t.match(await ask('127.0.0.1'), { statusCode: 200, body: /gameyard_http_responses_total/ })
  t.equal((await ask('10.0.0.9')).statusCode, 403)
  t.equal((await ask('127.0.0.1', { 'x-forwarded-for': '10.0.0.9' })).statusCode, 403, 'a proxy on this machine')
  for (const host of ['yard.example', 'localhost.yard.example', '10.0.0.1:8080', 'anything.localhost:8080'])
    t.equal((await ask('127.0.0.1', { host })).statusCode, 403, `a proxy that says only ${host}`)
  for (const host of ['127.0.0.1:8080', '[::1]:8080', 'localhost', '127.0.0.2'])
    t.equal((await ask('127.0.0.1', { host })).statusCode, 200, host)
  t.equal((await ask('10.0.0.9', { authorization: 'Bearer a-metrics-token' })).statusCode, 200)
  t.equal((await ask('10.0.0.9', { authorization: 'Bearer wrong' })).statusCode, 403)
})

t.test('pages and answers carry the security headers; nothing inline is allowed', async (t) => {
  const app = await startKernel(t)
  const { headers } = await app.inject({ url: '/docs/api', headers: portal })
  const policy = String(headers['content-security-policy'])
  t.notMatch(policy, /unsafe-inline|unsafe-eval|form-action|upgrade-insecure-requests/)
  t.match(policy, /default-src 'self'/)
  t.match(policy, /frame-ancestors 'none'/)
  t.match(headers, { 'x-content-type-options': 'nosniff', 'x-frame-options': 'DENY' })
  t.notOk(headers['strict-transport-security'], 'not on plain http')
})

t.test('the OpenAPI document says who may call', async (t) => {
  const app = await startKernel(t, { plugins: [echo] })
  const document = (await app.inject({ url: '/openapi.json', headers: portal })).json()
  t.same(document.paths['/api/locked'].get.security, [{ apiToken: [] }])
  t.same(document.paths['/api/echo'].get.security, [{}])
  t.notOk(document.paths['/healthz'])
})

t.test('what plugins close still finds the ground open, and a start that fails leaves nothing open', async (t) => {
  const order: string[] = []
  const careful = plugin('careful', {}, async (app) => {
    app.addHook('onClose', async () => {
      await app.db.ping()
      order.push('the plugin closed with the database still there')
    })
  })
  const app = await startKernel(t, { plugins: [careful] })
  await app.close()
  t.same(order, ['the plugin closed with the database still there'])
  await t.rejects(app.db.ping(), 'afterwards it is closed')

  let half: FastifyInstance | undefined
  const failing = plugin('failing', {}, async (scope) => {
    half = scope
    throw new Error('broke')
  })
  await t.rejects(startKernel(t, { plugins: [failing] }), /broke/)
  await t.rejects(half?.db.ping() as Promise<void>, 'the database of the failed start is closed')
})
