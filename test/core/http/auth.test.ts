import { createHmac, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest, InjectOptions } from 'fastify'
import t, { type Test } from 'tap'
import Type from 'typebox'
import { Unauthorized } from '../../../core/errors.ts'
import { type AuthRule, callerOf, type Principal, type PrincipalKind } from '../../../core/http/auth.ts'
import { definePlugin } from '../../../core/plugin.ts'
import { startKernel } from '../../kit/kernel.ts'

const portal = { host: 'localhost:8080' }
const own = { ...portal, origin: 'http://localhost:8080' }

/** Credentials of a test-only kind: `<kind>.<player>.<scopes>.<signature>`, signed with the kernel's keys. */
class Seals {
  readonly #key: Buffer

  constructor(app: FastifyInstance) {
    this.#key = app.keys.derive('test/seals')
  }

  make(kind: PrincipalKind, player: string, scopes: string[] | 'all' = 'all'): string {
    const text = [
      kind,
      player,
      scopes === 'all' ? '-' : scopes.map((scope) => scope.replaceAll(':', '~')).join('+'),
    ].join('.')
    return `${text}.${this.#sign(text)}`
  }

  open(sealed: string): Principal | null {
    const cut = sealed.lastIndexOf('.')
    const text = sealed.slice(0, cut)
    const [signature, expected] = [Buffer.from(sealed.slice(cut + 1)), Buffer.from(this.#sign(text))]
    if (signature.length !== expected.length || !timingSafeEqual(signature, expected)) return null
    const [kind, playerId = '', scopes = ''] = text.split('.')
    return {
      kind: kind as PrincipalKind,
      playerId,
      scopes: scopes === '-' ? 'all' : new Set(scopes.replaceAll('~', ':').split('+')),
      credentialId: signature.toString().slice(0, 8),
    }
  }

  #sign(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('hex')
  }
}

const RULES: Record<string, AuthRule> = {
  none: 'none',
  optional: 'optional',
  session: 'session',
  'any-token': 'any-token',
  scoped: { scope: 'notes:write' },
  'twice-scoped': { scope: 'notes:write', also: ['notes:send'] },
  'scoped-or-session': { scope: 'notes:write', accepts: ['session', 'api-token'] },
  oauth: { accepts: ['oauth-token'] },
  'oauth-scoped': { scope: 'profile', accepts: ['oauth-token'] },
}

const doors = definePlugin({ name: 'doors' }, async (app) => {
  const seals = new Seals(app)
  for (const kind of ['api-token', 'cli-token', 'oauth-token']) {
    app.auth.recognise({
      credential: 'bearer',
      claims: (token) => token.startsWith(`${kind}.`),
      authenticate: (token) => seals.open(token),
    })
  }
  app.auth.recognise({
    credential: 'bearer',
    claims: (token) => token === 'breaks',
    authenticate: () => app.db.query('select 1 from no_such_table').then(() => null),
  })
  app.auth.recognise({
    credential: 'cookie',
    authenticate: (request) => seals.open(request.cookies.door ?? ''),
  })
  app.auth.recognise({
    credential: 'cookie',
    authenticate: (request) => seals.open(request.cookies.window ?? ''),
  })
  const who = async ({ principal }: FastifyRequest) => ({ who: principal && `${principal.kind}/${principal.playerId}` })
  for (const [name, auth] of Object.entries(RULES)) {
    const options = { config: { auth }, constraints: { origin: 'portal' } }
    app.get(`/${name}`, options, who)
    app.post(`/${name}`, { ...options, schema: { body: Type.Object({ count: Type.Integer() }) } }, who)
    app.get(`/pages/${name}`, { ...options, config: { auth, page: true } }, who)
    app.post(`/pages/${name}`, { ...options, config: { auth, page: true } }, who)
  }
  app.post('/form', { config: { auth: 'none', sameOrigin: true }, constraints: { origin: 'portal' } }, who)
  app.get(
    '/pages/refuses',
    { config: { auth: 'session', page: true }, constraints: { origin: 'portal' } },
    async () => {
      throw new Unauthorized('Not like this.')
    },
  )
  app.get('/caller', { config: { auth: 'optional' }, constraints: { origin: 'portal' } }, async (request) => ({
    who: callerOf(request).playerId,
  }))
})

async function start(t: Test, config: Record<string, unknown> = {}) {
  const app = await startKernel(t, { plugins: [doors], config })
  const seals = new Seals(app)
  const bearer = (kind: PrincipalKind, scopes?: string[]) => ({
    authorization: `Bearer ${seals.make(kind, 'ann', scopes)}`,
  })
  const cookie = { cookie: `door=${seals.make('session', 'ben')}` }
  const ask = async (url: string, headers: Record<string, string> = {}, options: InjectOptions = {}) => {
    const response = await app.inject({ url, ...options, headers: { ...portal, ...headers } })
    const isJson = response.body !== '' && String(response.headers['content-type']).includes('json')
    return {
      status: response.statusCode,
      headers: response.headers,
      body: isJson ? response.json() : response.body,
      challenge: response.headers['www-authenticate'],
    }
  }
  return { app, seals, bearer, cookie, ask }
}

const SIGN_IN = { status: 401, challenge: 'Bearer', body: { error: { code: 'unauthorized' } } }
const BAD_TOKEN = { status: 401, challenge: 'Bearer error="invalid_token"', body: { error: { code: 'unauthorized' } } }
const WRONG_KIND = { status: 403, body: { error: { code: 'forbidden' } } }
const is = (who: string | null) => ({ status: 200, body: { who } })

t.test('each rule takes the kinds that it names and no other', async (t) => {
  const { ask, bearer, cookie } = await start(t)
  const [api, cli, oauth] = [is('api-token/ann'), is('cli-token/ann'), is('oauth-token/ann')]
  const session = is('session/ben')
  const outcomes: [rule: string, nobody: object, cookie: object, api: object, cli: object, oauth: object][] = [
    ['none', is(null), is(null), is(null), is(null), is(null)],
    ['optional', is(null), session, api, cli, is(null)],
    ['session', SIGN_IN, session, WRONG_KIND, WRONG_KIND, WRONG_KIND],
    ['any-token', SIGN_IN, SIGN_IN, api, cli, WRONG_KIND],
    ['scoped', SIGN_IN, SIGN_IN, api, cli, WRONG_KIND],
    ['twice-scoped', SIGN_IN, SIGN_IN, api, cli, WRONG_KIND],
    ['scoped-or-session', SIGN_IN, session, api, WRONG_KIND, WRONG_KIND],
    ['oauth', SIGN_IN, SIGN_IN, WRONG_KIND, WRONG_KIND, oauth],
    ['oauth-scoped', SIGN_IN, SIGN_IN, WRONG_KIND, WRONG_KIND, oauth],
  ]
  t.same(
    outcomes.map(([rule]) => rule),
    Object.keys(RULES),
  )
  for (const [rule, ...expected] of outcomes) {
    const senders = [{}, cookie, bearer('api-token'), bearer('cli-token'), bearer('oauth-token')]
    for (const [index, name] of ['nobody', 'a cookie', 'an API token', 'a CLI token', 'an OAuth token'].entries()) {
      t.match(await ask(`/${rule}`, senders[index]), expected[index] as object, `${rule}: ${name}`)
      const head = await ask(`/${rule}`, senders[index], { method: 'HEAD' })
      t.match(head, { status: (expected[index] as { status: number }).status }, `${rule}: ${name}, HEAD`)
    }
  }
})

t.test('an Authorization header decides alone', async (t) => {
  const { ask, bearer, cookie } = await start(t)
  t.match(await ask('/optional', { ...cookie, ...bearer('api-token') }), is('api-token/ann'))
  t.match(await ask('/session', { ...cookie, ...bearer('api-token') }), WRONG_KIND, 'a good cookie does not help')
  for (const authorization of ['Bearer nonsense', '', 'Bearer', 'Bearer a b', 'Bearer ä']) {
    for (const rule of ['session', 'any-token', 'scoped-or-session']) {
      t.match(await ask(`/${rule}`, { ...cookie, authorization }), BAD_TOKEN, `${rule}: ${authorization}`)
    }
    t.match(await ask('/optional', { ...cookie, authorization }), is(null), `no token, and no cookie: ${authorization}`)
    const change = await ask('/optional', { ...cookie, ...own, authorization }, { method: 'POST' })
    t.match(change, BAD_TOKEN, `but no change of nobody: ${authorization}`)
    t.match(await ask('/none', { ...cookie, authorization }), is(null), 'nobody looks where nothing is asked')
  }
})

t.test('a password for a proxy in front is no credential', async (t) => {
  const { ask, cookie } = await start(t)
  for (const authorization of ['Basic YTpi', 'basic YTpi', 'Digest username="a"', 'Negotiate YTpi']) {
    t.match(await ask('/optional', { authorization }), is(null), authorization)
    for (const rule of ['optional', 'session', 'scoped-or-session'])
      t.match(await ask(`/${rule}`, { ...cookie, authorization }), is('session/ben'), `${rule}: ${authorization}`)
    t.match(await ask('/any-token', { ...cookie, authorization }), { status: 401 })
  }
})

t.test('the scheme has no case, and the token is all that follows', async (t) => {
  const { ask, seals } = await start(t)
  const token = seals.make('api-token', 'ann')
  for (const authorization of [`bearer ${token}`, `BEARER ${token}`, `Bearer   ${token} `]) {
    t.match(await ask('/any-token', { authorization }), is('api-token/ann'), authorization)
  }
  for (const authorization of [token, `Bearer:${token}`, `Bearer ${token},`, `Bearer "${token}"`]) {
    t.match(await ask('/any-token', { authorization }), BAD_TOKEN, authorization)
  }
  t.match(await ask('/any-token', { authorization: `Bearer ${token}0` }), BAD_TOKEN, 'a signature that does not hold')
})

t.test('a token is asked of the kind that claims its form, and of no other', async (t) => {
  const { ask, seals } = await start(t)
  const asked = seals.make('api-token', 'ann').replace(/^api-token/, 'cli-token')
  t.match(await ask('/any-token', { authorization: `Bearer ${asked}` }), BAD_TOKEN)
})

t.test('cookies are asked in turn until one is known', async (t) => {
  const { ask, seals } = await start(t)
  const window = `window=${seals.make('session', 'cleo')}`
  t.match(await ask('/session', { cookie: window }), is('session/cleo'))
  t.match(await ask('/session', { cookie: `door=stale; ${window}` }), is('session/cleo'))
  t.match(await ask('/session', { cookie: 'door=stale; window=stale' }), SIGN_IN)
  t.match(await ask('/optional', { cookie: 'door=stale' }), is(null), 'a stale cookie is nobody')
})

t.test('a token needs the scope; sessions and CLI tokens have every one', async (t) => {
  const { ask, bearer, cookie } = await start(t)
  t.match(await ask('/scoped', bearer('api-token', ['notes:read', 'notes:write'])), is('api-token/ann'))
  for (const scopes of [['notes:read'], ['notes'], ['notes:write:all'], []]) {
    const answer = await ask('/scoped', bearer('api-token', scopes))
    t.match(answer, {
      status: 403,
      challenge: 'Bearer error="insufficient_scope", scope="notes:write"',
      body: { error: { code: 'missing_scope' } },
    })
    t.equal(answer.body.error.message, 'API token is missing the notes:write scope.')
  }
  t.match(await ask('/scoped-or-session', cookie), is('session/ben'))
  t.match(await ask('/scoped', bearer('cli-token')), is('cli-token/ann'))
  t.match(await ask('/oauth-scoped', bearer('oauth-token', ['email'])), { status: 403 })
  t.match(await ask('/oauth-scoped', bearer('oauth-token', ['profile'])), is('oauth-token/ann'))
})

t.test('a refusal names what the address takes, and all scopes that a token is missing', async (t) => {
  const { ask, bearer, cookie } = await start(t)
  const says = async (rule: string, headers: Record<string, string>, message: string) =>
    t.equal((await ask(`/${rule}`, headers)).body.error.message, message)
  await says('session', {}, 'This address takes a browser session: sign in first.')
  await says('scoped', {}, 'This address takes an API token: send `Authorization: Bearer svc_api_…`.')
  await says('oauth', {}, 'This address takes an OAuth access token: send `Authorization: Bearer …`.')
  await says(
    'scoped-or-session',
    {},
    'This address takes an API token or a browser session: send `Authorization: Bearer svc_api_…`, or sign in.',
  )
  await says(
    'any-token',
    { authorization: 'Bearer nonsense' },
    'This token is not valid: it may be mistyped, revoked or expired. This address takes an API token.',
  )
  await says('session', bearer('api-token'), 'This address takes a browser session, not an API token.')
  await says('scoped', bearer('oauth-token'), 'This address takes an API token, not an OAuth access token.')
  await says('oauth', bearer('cli-token'), 'This address takes an OAuth access token, not a CLI token.')
  await says(
    'twice-scoped',
    bearer('api-token', ['notes:read']),
    'API token is missing the notes:write scope and the notes:send scope.',
  )
  await says('twice-scoped', bearer('api-token', ['notes:write']), 'API token is missing the notes:send scope.')
  t.equal(
    (await ask('/twice-scoped', bearer('api-token', ['notes:write']))).challenge,
    'Bearer error="insufficient_scope", scope="notes:send"',
  )
  t.match(await ask('/twice-scoped', cookie), { status: 401 })
})

t.test('who is calling is settled before the body is looked at', async (t) => {
  const { ask, bearer, cookie } = await start(t)
  const bodies = ['{"count":"x"}', '{', '']
  for (const body of bodies) {
    const post = { method: 'POST' as const, body }
    const json = { 'content-type': 'application/json' }
    t.match(await ask('/scoped', json, post), SIGN_IN, body)
    t.match(await ask('/scoped', { ...json, ...bearer('api-token', ['other']) }, post), { status: 403 }, body)
    t.match(await ask('/session', { ...json, ...cookie }, post), { status: 403 }, 'nor before the cross-site rule')
    t.match(await ask('/scoped', { ...json, ...bearer('api-token') }, post), { status: 400 }, body)
  }
  const text = { method: 'POST' as const, body: 'x', headers: {} }
  t.match(await ask('/scoped', { 'content-type': 'text/plain' }, text), SIGN_IN, 'nor the type of the body')
})

t.test('a change with a session must come from our own pages; a token needs no page', async (t) => {
  const { ask, bearer, cookie } = await start(t)
  const post = (url: string, headers: Record<string, string>) =>
    ask(url, { ...headers, 'content-type': 'application/json' }, { method: 'POST', body: '{"count":1}' })
  const refused: Record<string, string>[] = [
    {},
    { origin: 'null' },
    { origin: 'null', 'sec-fetch-site': 'same-site' },
    { origin: 'null', 'sec-fetch-site': 'cross-site' },
    { origin: '' },
    { origin: 'http://evil.example' },
    { origin: 'http://pong.localhost:8080' },
    { origin: 'http://localhost:8081' },
    { origin: 'https://localhost:8080' },
    { origin: 'http://localhost:8080/' },
    { origin: 'http://evil.example', 'sec-fetch-site': 'same-origin' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'none' },
    { referer: 'http://localhost:8080/' },
  ]
  for (const headers of refused) {
    const name = JSON.stringify(headers)
    t.match(await post('/session', { ...cookie, ...headers }), WRONG_KIND, name)
    t.match(await post('/optional', { ...cookie, ...headers }), WRONG_KIND, `${name}, where a session is optional`)
    t.match(await post('/form', headers), WRONG_KIND, `${name}, a form that needs no session`)
    t.match(await post('/any-token', { ...bearer('api-token'), ...headers }), is('api-token/ann'), `${name}, a token`)
    t.match(await ask('/session', { ...cookie, ...headers }), is('session/ben'), `${name}, only reading`)
  }
  const site = { 'sec-fetch-site': 'same-origin' }
  // The last one is a form of a page with the referrer policy `no-referrer`.
  for (const headers of [own, site, { ...own, ...site }, { origin: 'null', ...site }]) {
    t.match(await post('/session', { ...cookie, ...headers }), is('session/ben'), JSON.stringify(headers))
    t.match(await post('/form', headers), is(null), JSON.stringify(headers))
  }
})

t.test('an authenticator that fails lets nobody in and tells nothing', async (t) => {
  const { ask } = await start(t)
  const answer = await ask('/optional', { authorization: 'Bearer breaks' })
  t.match(answer, { status: 500, body: { error: { code: 'internal' } } })
  t.notMatch(JSON.stringify(answer.body), /no_such_table/)
})

t.test('pages send whoever is not signed in to sign in and back; scripts get the error', async (t) => {
  const { app, ask, bearer, cookie } = await start(t)
  t.match(await ask('/pages/session'), { status: 401 }, 'an error page as long as nobody owns sign-in')
  app.auth.signInPath = '/enter'
  const page = await ask('/pages/session?tab=a&b=%20c')
  t.match(page, { status: 303, headers: { location: /^\/enter\?returnTo=%2Fpages%2Fsession%3Ftab%3Da%26b%3D%2520c$/ } })
  const posted = await ask('/pages/session', own, { method: 'POST' })
  t.match(posted, { status: 303, headers: { location: /^\/enter\?returnTo=%2F$/ } }, 'a lost form cannot be sent again')
  const elsewhere = await ask('//evil.example/pages/session')
  t.notMatch(elsewhere.headers.location ?? '', /returnTo=\/\/|evil/, 'nobody is sent elsewhere')
  const wrong = await ask('/pages/session', bearer('api-token'))
  t.match(wrong, { status: 403, body: /^<!doctype html>/i }, 'a wrong credential is an error page')
  t.match(await ask('/session', { accept: 'text/html' }), SIGN_IN, 'an API never redirects')
  t.match(await ask('/pages/session', { authorization: 'Bearer nonsense' }), { status: 401 }, 'a wrong token is said')
  const signedIn = await ask('/pages/refuses', cookie)
  t.match(signedIn, { status: 401, body: /^<!doctype html>/i }, 'nobody is sent to a sign-in that leads back here')
})

t.test('a handler that needs a caller on a route that requires none says 401', async (t) => {
  const { ask, cookie } = await start(t)
  t.match(await ask('/caller'), { status: 401 })
  t.match(await ask('/caller', cookie), { status: 200, body: { who: 'ben' } })
})

t.test('at the Studio the own origin is the Studio', async (t) => {
  const studio = definePlugin({ name: 'studio', dependencies: ['doors'] }, async (app) => {
    const options = { config: { auth: 'session' as const }, constraints: { origin: 'studio' } }
    app.post('/studio', options, async () => 'in')
  })
  const app = await startKernel(t, {
    plugins: [doors, studio],
    config: { studio: { url: 'http://studio.localhost:8080' } },
  })
  const cookie = `door=${new Seals(app).make('session', 'ben')}`
  const post = (origin: string) =>
    app.inject({ method: 'POST', url: '/studio', headers: { host: 'studio.localhost:8080', cookie, origin } })
  t.match(await post('http://studio.localhost:8080'), { statusCode: 200 })
  t.match(await post('http://localhost:8080'), { statusCode: 403 })
})

t.test('a rule that says nothing stops the start, and opens no door', async (t) => {
  const rules: unknown[] = [
    { accepts: [] },
    {},
    { scope: '' },
    { scope: 'notes:write', accepts: [] },
    { scope: 'notes:write', accept: ['session'] },
    { accepts: ['sesion'] },
    { accepts: 'session' },
    'sesion',
    null,
    true,
    [],
  ]
  for (const auth of rules) {
    const open = definePlugin({ name: 'open' }, async (app) => {
      app.get('/x', { config: { auth: auth as AuthRule }, constraints: { origin: 'portal' } }, async () => 'in')
    })
    const error = await startKernel(t, { plugins: [open] }).then(
      () => new Error('it started'),
      (reason: Error) => reason,
    )
    t.match(error, { name: 'StartupError', message: /^The route GET(,HEAD)? \/x has/ }, JSON.stringify(auth))
  }
})
