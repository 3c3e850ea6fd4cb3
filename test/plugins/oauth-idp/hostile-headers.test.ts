import t from 'tap'
import { registerApp } from '../../kit/oauth.ts'
import { startPlatform } from '../../kit/platform.ts'

const AUTHORIZATIONS = [
  '',
  ' ',
  'Bearer',
  'Bearer ',
  'bearer x',
  'Bearer x y',
  'Bearer svc_api_',
  `Bearer svc_api_${'0'.repeat(38)}`,
  `Bearer svc_cli_${'z'.repeat(38)}`,
  `Bearer svc_oat_${'A'.repeat(43)}`,
  'Bearer svc_oat_',
  "Bearer svc_oat_'; drop table players; --",
  'Bearer ä',
  `Bearer ${'x'.repeat(8000)}`,
  'Bearer =====',
  'Bearer null',
  'Bearer [object Object]',
  'Bearer svc_api_%00',
  'Basic',
  'Basic Og==',
  `Basic ${btoa(':')}`,
  'Digest username="x"',
  'Negotiate abc',
  ',Bearer x',
  'Bearer x, Bearer y',
  '\u0001',
]

const COOKIES = [
  'session',
  'gameyard_session_8080=',
  '=x',
  ';;;;',
  'gameyard_session_8080=%zz',
  'gameyard_session_8080="x"',
  `gameyard_session_8080=${'x'.repeat(8000)}`,
  'gameyard_session_8080=x; gameyard_session_8080=y; session=z',
  'gameyard_session_8080=\u0001',
  '__proto__=x; constructor=y',
]

/** For a proxy in front of the platform, which asks for a password of its own. */
const isOfProxy = (authorization: string) => /^(?:Basic|Digest|Negotiate) /.test(authorization)

/** method, path, and the answer to somebody who sends no credential of ours */
const ROUTES = [
  ['GET', '/api/auth/session', 200],
  ['GET', '/api/oauth/userinfo', 401],
  ['GET', '/api/oauth/apps', 401],
  ['POST', '/api/oauth/apps', 401],
  ['GET', '/api/cli/whoami', 401],
  ['DELETE', '/api/cli/tokens', 401],
  ['GET', '/api/tokens', 401],
  ['GET', '/settings', 303],
  ['GET', '/oauth/authorize', 400],
] as const

/** Where a caller is not required, a header that is no credential counts as none. */
const OPTIONAL: readonly string[] = ['/api/auth/session', '/oauth/authorize']

t.test('a malformed Authorization header is 401 wherever a caller is required, and never our fault', async (t) => {
  const platform = await startPlatform(t, { only: ['oauth-idp', 'tokens'] })
  const player = await platform.signUp()
  const program = await platform.program(player)
  await registerApp(platform, player)
  for (const [method, url, nobody] of ROUTES) {
    for (const authorization of AUTHORIZATIONS) {
      const answer = await platform.stranger.request(method, url, undefined, { headers: { authorization } })
      const expected = isOfProxy(authorization) || OPTIONAL.includes(url) ? nobody : 401
      t.equal(answer.status, expected, `${method} ${url} ${JSON.stringify(authorization.slice(0, 60))}`)
      if (answer.status === 401) t.match(answer.headers['www-authenticate'], /^Bearer/)
    }
  }
  const beside = await player.get('/api/tokens', { headers: { authorization: 'Bearer x' } })
  t.equal(beside.status, 401, 'a good cookie does not make up for a bad header')
  const wrongKind = await player.get('/api/tokens', { headers: { authorization: `Bearer ${program.token}` } })
  t.equal(wrongKind.status, 403, 'nor a token of another kind')
})

t.test('a malformed Cookie header means signed out', async (t) => {
  const platform = await startPlatform(t, { only: ['oauth-idp', 'tokens'] })
  for (const cookie of COOKIES) {
    const answer = await platform.stranger.get('/api/auth/session', { headers: { cookie } })
    t.match(answer, { status: 200, body: { signedIn: false } }, JSON.stringify(cookie.slice(0, 60)))
    t.equal((await platform.stranger.get('/api/tokens', { headers: { cookie } })).status, 401)
    const out = await platform.stranger.post('/api/auth/sign-out', undefined, { headers: { cookie } })
    t.equal(out.status, 204)
  }
})

t.test('tokens never cross kinds', async (t) => {
  const platform = await startPlatform(t, { only: ['oauth-idp', 'tokens'] })
  const player = await platform.signUp()
  const program = await platform.program(player)
  t.equal((await program.get('/api/oauth/userinfo')).status, 403, 'an API token is no access token')
  t.equal((await program.get('/settings')).status, 403, 'nor a browser session')
  const cookie = `gameyard_session_8080=${program.token}`
  t.same((await platform.stranger.get('/api/auth/session', { headers: { cookie } })).body, { signedIn: false })
  const session = player.cookiesOf().get('gameyard_session_8080')
  const bearer = { authorization: `Bearer ${session}` }
  t.same((await platform.stranger.get('/api/auth/session', { headers: bearer })).body, { signedIn: false })
  t.equal((await platform.stranger.get('/api/tokens', { headers: bearer })).status, 401)
})
