import t from 'tap'
import { authorizeUrl, decide, exchange, pkce, REDIRECT_URI, redirectParameters, registerApp } from '../../kit/oauth.ts'
import { Client, PASSWORD, startPlatform } from '../../kit/platform.ts'

const only = ['oauth-idp', 'tokens']

async function start(t: Parameters<typeof startPlatform>[0], fields: Record<string, unknown> = {}) {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp({ name: 'Ada' })
  return { platform, player, app: await registerApp(platform, player, fields) }
}

t.test('a player is asked once, and the code goes to the game with state and issuer', async (t) => {
  const { platform, player, app } = await start(t)
  const url = authorizeUrl(app, { state: 'ä &=?#%20' })

  const page = await player.get(url)
  t.match(page, { status: 200, text: /Rooftop Relay.*Allow.*Deny/s })
  t.match(page.headers['content-security-policy'], /frame-ancestors 'none'/)
  t.notMatch(page.headers['content-security-policy'], /form-action/, 'the form may be answered by a redirect to a game')
  t.equal(page.headers['x-frame-options'], 'DENY')
  t.match(page.text, player.account.email, 'what it would learn is shown')

  const allowed = await decide(player, url, 'allow')
  t.match(redirectParameters(allowed), { state: 'ä &=?#%20', iss: 'http://localhost:8080', code: /^[\w-]{43}$/ })
  t.equal(allowed.headers['cross-origin-resource-policy'], 'cross-origin')

  t.match(redirectParameters(await player.get(url)), { code: /^[\w-]{43}$/ }, 'not asked again')
  t.ok(redirectParameters(await player.get(authorizeUrl(app, { scope: 'profile' })))?.code, 'nor for less')
  const other = await platform.signUp()
  t.equal((await other.get(url)).status, 200, 'another player is asked')
})

t.test('asked for more than before, the player is asked again, and a no is a no', async (t) => {
  const { player, app } = await start(t)
  await decide(player, authorizeUrl(app, { scope: 'profile' }), 'allow')
  const more = authorizeUrl(app, { scope: 'profile email' })
  t.equal((await player.get(more)).status, 200)
  t.match(redirectParameters(await decide(player, more, 'deny')), {
    error: 'access_denied',
    state: 'a state',
    iss: 'http://localhost:8080',
  })
  t.equal((await player.get(more)).status, 200)
})

t.test('whoever is not signed in signs in first and comes back', async (t) => {
  const { platform, player, app } = await start(t)
  const url = authorizeUrl(app)
  const browser = new Client(platform.app)
  const first = await browser.get(url)
  t.equal(first.status, 303)
  const signIn = new URL(first.headers.location as string, platform.portal)
  t.equal(signIn.pathname, '/sign-in')
  t.equal(first.headers['cross-origin-resource-policy'], 'cross-origin')
  const returnTo = signIn.searchParams.get('returnTo') as string
  t.equal(returnTo, url)
  const signedIn = await browser.submit('/sign-in', { email: player.account.email, password: PASSWORD, returnTo })
  t.equal(signedIn.headers.location, url)
  t.equal((await browser.get(url)).status, 200, 'the consent page')

  const program = await platform.program(player)
  const byToken = await program.get(url)
  t.match(byToken.headers.location, /^\/sign-in/, "a program's token is nobody's consent")
})

t.test('a client or redirect URI that is not certain is shown and never redirected', async (t) => {
  const { player, app } = await start(t, { redirectUris: [REDIRECT_URI, 'http://127.0.0.1/cb?x=1'] })
  const cases: [string, Record<string, string | string[] | undefined>][] = [
    ['no client', { client_id: undefined }],
    ['an unknown client', { client_id: 'svc_client_unknown' }],
    ['the client twice', { client_id: [app.clientId, app.clientId] }],
    ['no redirect URI', { redirect_uri: undefined }],
    ['the redirect URI twice', { redirect_uri: [REDIRECT_URI, 'https://evil.example'] }],
    ['another site', { redirect_uri: 'https://evil.example/auth/callback' }],
    ['a longer path', { redirect_uri: `${REDIRECT_URI}/../evil` }],
    ['a suffix', { redirect_uri: `${REDIRECT_URI}x` }],
    ['a query', { redirect_uri: `${REDIRECT_URI}?x=1` }],
    ['a fragment', { redirect_uri: `${REDIRECT_URI}#x` }],
    ['a prefix', { redirect_uri: 'https://game.example/auth' }],
    ['another case', { redirect_uri: 'https://GAME.example/auth/callback' }],
    ['another scheme', { redirect_uri: 'http://game.example/auth/callback' }],
    ['a port', { redirect_uri: 'https://game.example:443/auth/callback' }],
    ['a user', { redirect_uri: 'https://game.example@evil.example/auth/callback' }],
    ['an encoded slash', { redirect_uri: 'https://game.example/auth%2Fcallback' }],
    ['a trailing space', { redirect_uri: `${REDIRECT_URI} ` }],
    ['a script', { redirect_uri: 'javascript:alert(1)' }],
    ['another loopback name', { redirect_uri: 'http://localhost:9/cb?x=1' }],
    ['another loopback path', { redirect_uri: 'http://127.0.0.1:9/cb?x=2' }],
    ['a host after a loopback one', { redirect_uri: 'http://127.0.0.1:9@evil.example/cb?x=1' }],
  ]
  for (const [what, change] of cases) {
    const answer = await player.get(authorizeUrl(app, { ...change, response_type: 'token' }))
    t.equal(answer.status, 400, what)
    t.equal(answer.headers.location, undefined)
    t.notMatch(answer.text, /evil|svc_client/, 'nothing of it is repeated')
    t.equal((await decide(player, authorizeUrl(app, change), 'allow')).status, 400, `${what}, by the consent form`)
  }
  const native = authorizeUrl(app, { redirect_uri: 'http://127.0.0.1:49152/cb?x=1', prompt: 'none' })
  t.match((await player.get(native)).headers.location, /^http:\/\/127\.0\.0\.1:49152\/cb\?x=1&error=consent_required/)
})

t.test('a loopback address is registered for any port', async (t) => {
  const hosts = ['127.0.0.1', 'localhost', '[::1]']
  const { player, app } = await start(t, { redirectUris: hosts.map((host) => `http://${host}/cb`) })
  for (const host of hosts)
    for (const port of ['', ':1', ':65535']) {
      const uri = `http://${host}${port}/cb`
      const { headers } = await player.get(authorizeUrl(app, { redirect_uri: uri, prompt: 'none' }))
      t.ok(headers.location?.startsWith(`${uri}?error=consent_required`), uri)
    }
})

t.test('every other error is told to the game', async (t) => {
  const { player, app } = await start(t)
  const { challenge } = pkce()
  const cases: [string, Record<string, string | string[] | undefined>, string][] = [
    ['no response type', { response_type: undefined }, 'invalid_request'],
    ['the implicit flow', { response_type: 'token' }, 'unsupported_response_type'],
    ['the hybrid flow', { response_type: 'code id_token' }, 'unsupported_response_type'],
    ['a doubled parameter', { scope: ['profile', 'email'] }, 'invalid_request'],
    ['a doubled unknown parameter', { foo: ['1', '2'] }, 'invalid_request'],
    ['plain PKCE', { ...challenge, code_challenge_method: 'plain' }, 'invalid_request'],
    ['PKCE without a method', { ...challenge, code_challenge_method: undefined }, 'invalid_request'],
    ['a method without a challenge', { code_challenge_method: 'S256' }, 'invalid_request'],
    ['a short challenge', { code_challenge: 'abc', code_challenge_method: 'S256' }, 'invalid_request'],
    ['a fragment answer', { response_mode: 'fragment' }, 'invalid_request'],
    ['a request object', { request: 'eyJ' }, 'request_not_supported'],
    ['a request address', { request_uri: 'https://x.example' }, 'request_uri_not_supported'],
    ['an unknown prompt', { prompt: 'shout' }, 'invalid_request'],
    ['none and another prompt', { prompt: 'none login' }, 'invalid_request'],
    ['consent without asking', { prompt: 'none' }, 'consent_required'],
  ]
  for (const [what, change, error] of cases) {
    const answer = redirectParameters(await player.get(authorizeUrl(app, change)))
    t.match(answer, { error, state: 'a state', iss: 'http://localhost:8080', error_description: String }, what)
  }
  const twice = redirectParameters(await player.get(authorizeUrl(app, { state: ['a', 'b'] })))
  t.equal(twice?.error, 'invalid_request')
  t.equal(twice?.state, undefined, 'of two states neither is sent back')
})

t.test('prompt=none never shows a page, and prompt=login asks again', async (t) => {
  const { platform, player, app } = await start(t)
  const silent = authorizeUrl(app, { prompt: 'none' })
  t.match(redirectParameters(await platform.stranger.get(silent)), { error: 'login_required', state: 'a state' })
  await decide(player, authorizeUrl(app), 'allow')
  t.ok(redirectParameters(await player.get(silent))?.code)

  const again = await player.get(authorizeUrl(app, { prompt: 'login' }))
  const signIn = new URL(again.headers.location as string, platform.portal)
  t.match(signIn, { pathname: '/sign-in' })
  t.equal((await player.get(signIn.pathname + signIn.search)).status, 200, 'although signed in')
  t.ok(redirectParameters(await player.get(signIn.searchParams.get('returnTo') as string))?.code, 'and then goes on')
  t.equal((await player.get(authorizeUrl(app, { prompt: 'consent' }))).status, 200)
})

t.test('a public client needs PKCE', async (t) => {
  const { player, app } = await start(t, { public: true })
  t.equal(app.clientSecret, null)
  t.match(redirectParameters(await player.get(authorizeUrl(app))), { error: 'invalid_request' })
  t.equal((await player.get(authorizeUrl(app, pkce().challenge))).status, 200)
})

t.test('consent cannot be given by another site or by nobody', async (t) => {
  const { platform, player, app } = await start(t)
  const form = { request: authorizeUrl(app).split('?')[1] as string, decision: 'allow' }
  for (const origin of ['https://evil.example', 'http://pong.localhost:8080', 'null', undefined]) {
    t.equal((await player.submit('/oauth/consent', form, { headers: { origin } })).status, 403, String(origin))
  }
  t.match((await platform.stranger.submit('/oauth/consent', form)).headers.location, /^\/sign-in/)
  t.equal((await player.get(authorizeUrl(app))).status, 200, 'nothing was remembered')
})

t.test('a redirect carries nothing of the request into a header', async (t) => {
  const { player, app } = await start(t)
  await decide(player, authorizeUrl(app), 'allow')
  const answer = await player.get(authorizeUrl(app, { state: 'x\r\nset-cookie: evil=1' }))
  t.equal(answer.headers['set-cookie'], undefined)
  t.match(redirectParameters(answer), { state: 'x\r\nset-cookie: evil=1' })
  const long = await player.get(authorizeUrl(app, { state: 's'.repeat(8000) }))
  t.equal(redirectParameters(long)?.state?.length, 8000)
})

t.test('a game that lives here is not asked about for names at its own addresses, but for all else', async (t) => {
  const platform = await startPlatform(t)
  const player = await platform.signUp()
  const owner = await platform.signUp()
  const program = await platform.program(owner)
  const game = await platform.game(owner, { title: 'Pong' })
  const other = await platform.game(owner, { title: 'Other' })
  const { id } = (await program.get('/api/oauth/apps?limit=100')).body.apps.find(
    ({ clientId }: { clientId: string }) => clientId === game.clientId,
  )
  const redirectUri = 'http://pong.localhost:8080/auth/service/callback'
  const elsewhere = [
    REDIRECT_URI,
    'http://pong.localhost:8081/auth/service/callback',
    'https://pong.localhost:8080/auth/service/callback',
    'http://pong--0abc.localhost:8080/auth/service/callback',
    `http://${platform.gameHost(other.slug)}/auth/service/callback`,
    'http://nobody.localhost:8080/auth/service/callback',
    'http://localhost:8080/auth/service/callback',
  ]
  const patched = await program.patch(`/api/oauth/apps/${id}`, { redirectUris: [redirectUri, ...elsewhere] })
  t.equal(patched.status, 200)
  const app = { id, ...game.oauth }
  const ask = (to: string, changes = {}) =>
    player.get(authorizeUrl(app, { redirect_uri: to, scope: 'openid profile', ...changes }))
  t.ok(redirectParameters(await ask(redirectUri), redirectUri)?.code)
  t.ok(redirectParameters(await ask(redirectUri, { prompt: 'none' }), redirectUri)?.code, 'in a frame too')
  t.equal((await ask(redirectUri, { scope: 'profile email' })).status, 200)
  for (const to of elsewhere) {
    const page = await ask(to)
    t.match(page, { status: 200, text: new RegExp(`Sends you to.*${new URL(to).host}.*Allow`, 's') }, to)
    t.match(redirectParameters(await ask(to, { prompt: 'none' }), to), { error: 'consent_required' }, to)
  }
  const url = authorizeUrl(app, { scope: 'openid profile' })
  const { code } = redirectParameters(await decide(player, url, 'allow')) ?? {}
  t.equal(
    (await exchange(platform.stranger, app, code as string)).status,
    200,
    'with a yes, its server elsewhere learns',
  )
  t.ok(redirectParameters(await ask(REDIRECT_URI))?.code, 'and is not asked about again')
})
