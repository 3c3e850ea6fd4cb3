import t from 'tap'
import { basic, callEndpoint, exchange, obtainCode, obtainTokens, registerApp } from '../../kit/oauth.ts'
import { Client, type Platform, type PlayerClient, startPlatform } from '../../kit/platform.ts'

const SCOPE = 'openid profile offline_access'

async function start(t: Parameters<typeof startPlatform>[0], fields: Record<string, unknown> = {}) {
  const platform = await startPlatform(t, { only: ['oauth-idp', 'tokens'] })
  const player = await platform.signUp({ name: 'Ada' })
  return { platform, player, app: await registerApp(platform, player, fields) }
}

const works = async (platform: Platform, token: string) =>
  (await new Client(platform.app, token).get('/api/oauth/userinfo')).status === 200

t.test('a client revokes its tokens: an access token alone, a refresh token with all of its family', async (t) => {
  const { platform, player, app } = await start(t)
  const { stranger } = platform
  const tokens = await obtainTokens(player, stranger, app, SCOPE)
  t.match(await callEndpoint(stranger, app, 'revoke', { token: tokens.access_token }), {
    status: 200,
    headers: { 'cache-control': 'no-store' },
  })
  t.notOk(await works(platform, tokens.access_token))
  const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
  const next = (await callEndpoint(stranger, app, 'token', refresh)).body
  const hint = { token: next.refresh_token, token_type_hint: 'access_token' }
  t.equal((await callEndpoint(stranger, app, 'revoke', hint)).status, 200, 'a wrong hint does no harm')
  t.notOk(await works(platform, next.access_token))
  t.equal((await callEndpoint(stranger, app, 'revoke', hint)).status, 200, 'twice is no error')
  t.match(await callEndpoint(stranger, app, 'revoke'), { status: 400, body: { error: 'invalid_request' } })
  const wrong = { ...app, clientSecret: 'wrong' }
  t.match(await callEndpoint(stranger, wrong, 'revoke', hint), { status: 401, body: { error: 'invalid_client' } })
})

t.test('a server asks about its own tokens, and about no others', async (t) => {
  const { platform, player, app } = await start(t)
  const { stranger } = platform
  const tokens = await obtainTokens(player, stranger, app, SCOPE)
  const ask = (token: string, as = app) => callEndpoint(stranger, as, 'introspect', { token })
  const now = Math.floor(platform.clock.now().getTime() / 1000)
  t.match((await ask(tokens.access_token)).body, {
    active: true,
    scope: SCOPE,
    client_id: app.clientId,
    sub: player.id,
    token_type: 'Bearer',
    exp: now + 3600,
    iat: now,
    iss: platform.portal,
  })
  t.match((await ask(tokens.refresh_token)).body, { active: true, client_id: app.clientId })
  const other = await registerApp(platform, player, { name: 'Other' })
  for (const token of [tokens.access_token, tokens.refresh_token, 'svc_oat_x', 'x', player.id]) {
    t.same((await ask(token, other)).body, { active: false })
  }
  platform.clock.advance(3_600_000)
  t.same((await ask(tokens.access_token)).body, { active: false }, 'expired')
  const open = await registerApp(platform, player, { public: true })
  t.match(await ask(tokens.access_token, open), { status: 401, body: { error: 'invalid_client' } })
})

t.test('each endpoint of clients takes a form, one way to authenticate, and each parameter once', async (t) => {
  const { platform, app } = await start(t)
  for (const endpoint of ['token', 'revoke', 'introspect', 'device_authorization'] as const) {
    const url = `/api/oauth/${endpoint}`
    t.match(await platform.stranger.post(url, { token: 'x' }), { status: 415, body: { error: 'invalid_request' } })
    t.equal((await platform.stranger.get(url)).status, 405, `GET ${endpoint}`)
    const twice = await callEndpoint(platform.stranger, app, endpoint, { token: ['x', 'y'] })
    t.match(twice, { status: 400, body: { error: 'invalid_request' } }, `${endpoint}: twice`)
    const both = await platform.stranger.submit(
      url,
      { client_id: app.clientId, client_secret: app.clientSecret },
      { headers: { authorization: basic(app.clientId, app.clientSecret) } },
    )
    t.match(both, { status: 400, body: { error: 'invalid_request' } }, `${endpoint}: both ways`)
    const huge = await callEndpoint(platform.stranger, app, endpoint, { client_id: 'x'.repeat(1_000_000) })
    t.match(huge, { status: 413, body: { error: 'invalid_request' } }, `${endpoint}: a megabyte`)
    t.match(await callEndpoint(platform.stranger, { clientId: 'x' }, endpoint), {
      status: 401,
      headers: { 'www-authenticate': /^Basic/, 'cache-control': 'no-store' },
    })
  }
})

const CLIENT_ENDPOINTS = ['token', 'revoke', 'device_authorization'] as const
const preflight = (platform: Platform, endpoint: string, origin: string) =>
  platform.stranger.request('OPTIONS', `/api/oauth/${endpoint}`, undefined, {
    headers: { origin, 'access-control-request-method': 'POST' },
  })

t.test('a page calls the endpoints of clients for a public client, from an origin of its redirect URIs', async (t) => {
  const { platform, player } = await start(t)
  const open = await registerApp(platform, player, {
    public: true,
    redirectUris: ['https://game.example:8443/callback', 'http://127.0.0.1/callback'],
  })
  const { body: other } = await (await platform.program(player)).post('/api/oauth/apps', {
    name: 'Other',
    public: true,
    redirectUris: ['https://other.example/'],
  })
  const call = (endpoint: string, origin: string, form: Record<string, string>) =>
    platform.stranger.submit(`/api/oauth/${endpoint}`, form, { headers: { origin } })
  for (const endpoint of CLIENT_ENDPOINTS) {
    // A native application learns the port of its loopback address when it starts (RFC 8252, section 7.3).
    for (const origin of ['https://game.example:8443', 'http://127.0.0.1', 'http://127.0.0.1:51004']) {
      const headers = { 'access-control-allow-origin': origin, vary: /\borigin\b/i }
      const asked = await preflight(platform, endpoint, origin)
      t.match(asked, {
        status: 204,
        headers: {
          ...headers,
          'access-control-allow-methods': 'POST',
          'access-control-allow-headers': /authorization/,
        },
      })
      t.equal(asked.headers['access-control-allow-credentials'], undefined)
      const answer = await call(endpoint, origin, { client_id: open.clientId })
      t.match(answer.headers, headers, `${endpoint}: ${origin}, errors too`)
      const wrong = await call(endpoint, origin, { client_id: open.clientId, client_secret: 'x' })
      t.match(wrong, { status: 401, headers }, `${endpoint}: ${origin}, and that it has no secret`)
    }
    const elsewhere = [
      'https://other.example',
      'https://game.example',
      'http://game.example:8443',
      'null',
      'x',
      'http://',
    ]
    for (const origin of elsewhere) {
      const { headers } = await call(endpoint, origin, { client_id: open.clientId })
      t.equal(headers['access-control-allow-origin'], undefined, `${endpoint}: not from ${origin}`)
      t.match(headers, { vary: /\borigin\b/i }, 'nor may a cache give it what another got')
    }
    const theirs = await call(endpoint, 'https://other.example', { client_id: other.clientId })
    t.match(theirs.headers, { 'access-control-allow-origin': 'https://other.example' })
  }
  t.equal(
    (await preflight(platform, 'token', 'https://other.example')).headers['access-control-allow-origin'],
    'https://other.example',
    'which client will be named is not known yet',
  )
  await (await platform.program(player)).delete(`/api/oauth/apps/${other.id}`)
  const { headers } = await preflight(platform, 'token', 'https://other.example')
  t.equal(headers['access-control-allow-origin'], undefined, 'and no longer once it is gone')
})

t.test('no page calls them for a client with a secret, or for one that is unknown', async (t) => {
  const { platform, player, app } = await start(t)
  const origin = 'https://game.example'
  for (const endpoint of [...CLIENT_ENDPOINTS, 'introspect'] as const) {
    const before = await preflight(platform, endpoint, origin)
    t.equal(before.headers['access-control-allow-origin'], undefined, `OPTIONS ${endpoint}`)
    for (const form of [{ client_id: app.clientId, client_secret: app.clientSecret }, { client_id: 'x' }, {}]) {
      const url = `/api/oauth/${endpoint}`
      const answer = await platform.stranger.submit(url, form, { headers: { origin } })
      t.equal(answer.headers['access-control-allow-origin'], undefined, `${endpoint} ${Object.keys(form)}`)
    }
  }
  const code = await obtainCode(player, app)
  const answer = await exchange(platform.stranger, app, code, {}, { origin })
  t.match(answer, { status: 200, body: { access_token: String } }, 'a server may send an origin')
  t.equal(answer.headers['access-control-allow-origin'], undefined, 'but a page cannot read the answer')
})

t.test('a page of any origin asks who the player behind an access token is', async (t) => {
  const { platform } = await start(t)
  t.match(await preflight(platform, 'userinfo', 'https://x.example'), {
    status: 204,
    headers: { 'access-control-allow-origin': '*', 'access-control-allow-headers': /authorization/ },
  })
  const refused = await platform.stranger.get('/api/oauth/userinfo', { headers: { origin: 'https://x.example' } })
  t.match(refused, { status: 401, headers: { 'access-control-allow-origin': '*' } }, 'errors too')
  t.equal((await platform.stranger.get('/api/oauth/apps')).headers['access-control-allow-origin'], undefined)
})

t.test('players see which games know them, and end it at once', async (t) => {
  const { platform, player, app } = await start(t, { name: 'Rooftop <b>Relay', homepageUrl: 'https://relay.example/' })
  t.match((await player.get('/settings/connected')).text, /Nothing has access yet/)
  const tokens = await obtainTokens(player, platform.stranger, app, 'profile email')
  const code = await obtainCode(player, app)
  const page = await player.get('/settings/connected')
  t.match(page.text, 'Rooftop &lt;b>Relay')
  t.match(page.text, /your name and picture/)
  const stranger = await platform.signUp()
  t.equal((await stranger.submit(`/settings/connected/${app.clientId}/revoke`, {})).status, 404, 'nobody else can')
  t.ok(await works(platform, tokens.access_token))
  const url = `/settings/connected/${app.clientId}/revoke`
  t.equal((await player.submit(url, {}, { headers: { origin: 'https://evil.example' } })).status, 403)
  t.match(await player.submit(url, {}), { status: 303, headers: { location: /^\/settings\/connected\?done=revoked$/ } })
  t.notOk(await works(platform, tokens.access_token))
  t.match(await exchange(platform.stranger, app, code), { status: 400, body: { error: 'invalid_grant' } })
  t.match((await player.get('/settings/connected')).text, /Nothing has access yet/)
  t.equal((await player.submit(url, {})).status, 404)
})

t.test("a game's owner sees how many sign in, and nobody else does", async (t) => {
  const { platform, player, app } = await start(t)
  const other = await platform.signUp()
  const signIn = async (who: PlayerClient) => exchange(platform.stranger, app, await obtainCode(who, app))
  for (const who of [player, player, other]) t.equal((await signIn(who)).status, 200)
  platform.clock.advance(86_400_000)
  await signIn(other)
  const today = platform.clock.now().toISOString().slice(0, 10)
  const { body } = await player.get(`/api/oauth/apps/${app.id}/analytics`)
  t.equal(body.signIns.length, 30)
  t.same(body.signIns.slice(-2), [
    { date: body.signIns.at(-2).date, count: 3, uniquePlayers: 2 },
    { date: today, count: 1, uniquePlayers: 1 },
  ])
  t.equal(body.total, 4)
  const query = `?from=${today}&to=${today}`
  t.match((await player.get(`/api/oauth/apps/${app.id}/analytics${query}`)).body, { total: 1, signIns: [{ count: 1 }] })
  for (const bad of ['?from=2026-01-02&to=2026-01-01', '?from=yesterday', '?from=2000-01-01', '?from=2026-02-31']) {
    t.equal((await player.get(`/api/oauth/apps/${app.id}/analytics${bad}`)).status, 400, bad)
  }
  t.equal((await other.get(`/api/oauth/apps/${app.id}/analytics`)).status, 404)
  const blind = await platform.program(player, ['games:read'])
  t.equal((await blind.get(`/api/oauth/apps/${app.id}/analytics`)).status, 403)

  const { identity } = platform.app
  platform.clock.advance(400 * 86_400_000)
  const total = async () => (await identity.signIns.between(app.clientId, '2026-11-21', today)).total
  t.equal(await total(), 4)
  await identity.sweep()
  t.equal(await total(), 1, 'who signed in on which day is forgotten after 400 days')
})
