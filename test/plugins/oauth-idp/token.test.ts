import t from 'tap'
import { InvalidGrant } from '../../../plugins/oauth-idp/index.ts'
import { AccessToken } from '../../../plugins/oauth-idp/oauth/entities.ts'
import { PlayerRow } from '../../../plugins/oauth-idp/players/entities.ts'
import { basic, callEndpoint, exchange, obtainCode, pkce, REDIRECT_URI, registerApp } from '../../kit/oauth.ts'
import { Client, type Platform, startPlatform } from '../../kit/platform.ts'

const only = ['oauth-idp', 'tokens']

async function start(t: Parameters<typeof startPlatform>[0], config: Record<string, unknown> = {}) {
  const platform = await startPlatform(t, { only, config })
  const player = await platform.signUp({ name: 'Ada', email: 'ada@example.org' })
  return { platform, player, app: await registerApp(platform, player) }
}

const userinfo = (platform: Platform, token: string) => new Client(platform.app, token).get('/api/oauth/userinfo')

t.test('a code becomes a token, and the token names the player', async (t) => {
  const { platform, player, app } = await start(t)
  const answer = await exchange(platform.stranger, app, await obtainCode(player, app))
  t.match(answer, {
    status: 200,
    headers: { 'cache-control': 'no-store', 'content-type': /^application\/json/ },
    body: {
      access_token: /^svc_oat_[\w-]{43}$/,
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'profile email',
      user: { id: player.id, name: 'Ada', email: 'ada@example.org', image_url: String },
    },
  })
  const info = await userinfo(platform, answer.body.access_token)
  t.same(info.body, {
    sub: player.id,
    name: 'Ada',
    picture: answer.body.user.image_url,
    image_url: answer.body.user.image_url,
    email: 'ada@example.org',
    email_verified: false,
  })
  const posted = await new Client(platform.app, answer.body.access_token).post('/api/oauth/userinfo')
  t.same(posted.body, info.body)
})

t.test('a suspended game gets no token, and those that it has are not valid until it is lifted', async (t) => {
  const { platform, player, app } = await start(t)
  const scope = 'profile offline_access'
  const { body } = await exchange(platform.stranger, app, await obtainCode(player, app, { scope }))
  const code = await obtainCode(player, app, { scope })
  const refresh = { grant_type: 'refresh_token', refresh_token: body.refresh_token }
  const active = async () => {
    const asked = [body.access_token, body.refresh_token].map(async (token) => {
      const answer = await callEndpoint(platform.stranger, app, 'introspect', { token })
      return answer.body.active
    })
    return [(await userinfo(platform, body.access_token)).status, ...(await Promise.all(asked))]
  }
  t.same(await active(), [200, true, true])
  platform.app.identity.suspendedClients.checkWith(async ({ clientId }) => clientId === app.clientId)
  const refused = { status: 400, body: { error: 'invalid_grant', error_description: 'This game is suspended.' } }
  t.match(await exchange(platform.stranger, app, code), refused)
  t.match(await callEndpoint(platform.stranger, app, 'token', refresh), refused)
  t.same(await active(), [401, false, false])
  platform.app.identity.suspendedClients.checkWith(async () => false)
  t.same(await active(), [200, true, true])
  t.equal((await exchange(platform.stranger, app, code)).status, 200, 'its code is not used up')
  t.equal((await callEndpoint(platform.stranger, app, 'token', refresh)).status, 200)
})

t.test('whoever is disabled while a code or a refresh token is redeemed gets nothing', async (t) => {
  const { platform, player, app } = await start(t)
  const { db, identity } = platform.app
  const scope = 'profile offline_access'
  const { body } = await exchange(platform.stranger, app, await obtainCode(player, app, { scope }))
  const code = await obtainCode(player, app, { scope })
  // The codes are left, as for a request that has read them when the account is disabled.
  const disable = (disabled: boolean) => db.em().nativeUpdate(PlayerRow, { id: player.id }, { disabled })
  await disable(true)
  const tokens = await db.em().count(AccessToken)
  const refused = { status: 400, body: { error: 'invalid_grant' } }
  t.match(await exchange(platform.stranger, app, code), refused)
  const refresh = { grant_type: 'refresh_token', refresh_token: body.refresh_token }
  t.match(await callEndpoint(platform.stranger, app, 'token', refresh), refused)
  const presented = { clientId: app.clientId, code, redirectUri: REDIRECT_URI }
  await t.rejects(identity.codes.redeem(presented), InvalidGrant, 'nor is a player of a hosted game signed in')
  t.equal(await db.em().count(AccessToken), tokens)
  await disable(false)
  t.equal((await exchange(platform.stranger, app, code)).status, 200)
})

t.test('what was not granted is absent', async (t) => {
  const { platform, player, app } = await start(t)
  const { body } = await exchange(platform.stranger, app, await obtainCode(player, app, { scope: 'profile' }))
  t.same(Object.keys(body.user).sort(), ['id', 'image_url', 'name'])
  t.equal(body.scope, 'profile')
  t.same(Object.keys((await userinfo(platform, body.access_token)).body), ['sub', 'name', 'picture', 'image_url'])
})

t.test('a client proves itself by header or by form', async (t) => {
  const { platform, player, app } = await start(t)
  const { clientId, clientSecret } = app
  const none = { client_id: undefined, client_secret: undefined }
  type Case = [string, Record<string, string | undefined>, string | undefined, number, string | undefined]
  const cases: Case[] = [
    ['by form', {}, undefined, 200, undefined],
    ['by header', none, basic(clientId, clientSecret), 200, undefined],
    ['by header, the id in the form too', { client_secret: undefined }, basic(clientId, clientSecret), 200, undefined],
    ['by both', {}, basic(clientId, clientSecret), 400, 'invalid_request'],
    ['two ids', { client_id: 'x', client_secret: undefined }, basic(clientId, clientSecret), 400, 'invalid_request'],
    ['a wrong secret', { client_secret: 'wrong' }, undefined, 401, 'invalid_client'],
    ['no secret', { client_secret: undefined }, undefined, 401, 'invalid_client'],
    ['an unknown client', { client_id: 'svc_client_x' }, undefined, 401, 'invalid_client'],
    ['nobody', none, undefined, 401, 'invalid_client'],
    ['a wrong secret by header', none, basic(clientId, 'wrong'), 401, 'invalid_client'],
    ['an unknown client by header', none, basic('svc_client_x', clientSecret), 401, 'invalid_client'],
    ['no base64', none, 'Basic ***', 401, 'invalid_client'],
    ['no colon', none, `Basic ${btoa('abc')}`, 401, 'invalid_client'],
    ['broken escapes', none, `Basic ${btoa('%zz:%zz')}`, 401, 'invalid_client'],
    ['a bearer', none, 'Bearer svc_oat_x', 401, 'invalid_client'],
    ['nothing', none, '', 401, 'invalid_client'],
  ]
  const refusals = new Set<string>()
  for (const [what, change, authorization, status, error] of cases) {
    const code = await obtainCode(player, app)
    const answer = await exchange(platform.stranger, app, code, change, { authorization })
    t.equal(answer.status, status, what)
    t.equal(answer.body.error, error, what)
    if (status === 200) continue
    t.type(answer.body.error_description, 'string')
    t.equal(answer.headers['cache-control'], 'no-store')
    if (status === 401) {
      t.match(answer.headers['www-authenticate'], /^Basic/, what)
      refusals.add(answer.text)
    }
    t.equal((await exchange(platform.stranger, app, code)).status, 200, `${what}: the code is still good`)
  }
  t.equal(refusals.size, 1, 'the same words for an unknown client and a wrong secret')
})

t.test('a request that is not one is refused in the words of the RFC', async (t) => {
  const { platform, player, app } = await start(t)
  const other = await registerApp(platform, player, { name: 'Other' })
  const { verifier, challenge } = pkce()
  type Change = Record<string, string | string[] | undefined>
  const cases: [string, Change, Change, string][] = [
    ['no grant type', {}, { grant_type: undefined }, 'invalid_request'],
    ['another grant type', {}, { grant_type: 'password' }, 'unsupported_grant_type'],
    ['a doubled parameter', {}, { grant_type: ['authorization_code', 'authorization_code'] }, 'invalid_request'],
    ['a doubled unknown parameter', {}, { foo: ['1', '2'] }, 'invalid_request'],
    ['no code', {}, { code: undefined }, 'invalid_request'],
    ['an unknown code', {}, { code: 'x' }, 'invalid_grant'],
    ['a huge code', {}, { code: 'x'.repeat(7000) }, 'invalid_request'],
    ['no redirect URI', {}, { redirect_uri: undefined }, 'invalid_request'],
    ['another redirect URI', {}, { redirect_uri: `${REDIRECT_URI}/` }, 'invalid_grant'],
    ['a verifier without a challenge', {}, { code_verifier: verifier }, 'invalid_grant'],
    ['a challenge without a verifier', challenge, {}, 'invalid_grant'],
    ['the wrong verifier', challenge, { code_verifier: 'w'.repeat(43) }, 'invalid_grant'],
    ['the challenge as verifier', challenge, { code_verifier: challenge.code_challenge }, 'invalid_grant'],
    [
      'the code of another client',
      {},
      { client_id: other.clientId, client_secret: other.clientSecret },
      'invalid_grant',
    ],
  ]
  for (const [what, asked, presented, error] of cases) {
    const code = await obtainCode(player, app, asked)
    const answer = await exchange(platform.stranger, app, code, presented)
    t.match(answer, { status: 400, body: { error, error_description: String } }, what)
    t.equal(answer.headers['cache-control'], 'no-store')
    const good = 'code_challenge' in asked ? { code_verifier: verifier } : {}
    t.equal((await exchange(platform.stranger, app, code, good)).status, 200, `${what}: the code is still good`)
  }
})

t.test('the token endpoint takes a posted form and nothing else', async (t) => {
  const { platform, player, app } = await start(t)
  const form = { grant_type: 'authorization_code', client_id: app.clientId, client_secret: app.clientSecret }
  const code = await obtainCode(player, app)
  const json = await platform.stranger.post('/api/oauth/token', { ...form, code, redirect_uri: REDIRECT_URI })
  t.match(json, { status: 415, body: { error: 'invalid_request' }, headers: { 'cache-control': 'no-store' } })
  for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x', 'x', undefined]) {
    const answer = await platform.stranger.post('/api/oauth/token', '{broken', { headers: { 'content-type': type } })
    t.match(answer, { status: 415, body: { error: 'invalid_request' } }, String(type))
  }
  t.match(await platform.stranger.get(`/api/oauth/token?code=${code}`), { status: 405, headers: { allow: /POST/ } })
  t.match(await platform.stranger.submit('/api/oauth/token', {}), { status: 401, body: { error: 'invalid_client' } })
})

t.test('a replayed code is refused and what it gave is dead', async (t) => {
  const { platform, player, app } = await start(t)
  const code = await obtainCode(player, app)
  const { access_token: token } = (await exchange(platform.stranger, app, code)).body
  t.equal((await userinfo(platform, token)).status, 200)
  const replay = await exchange(platform.stranger, app, code)
  t.match(replay, { status: 400, body: { error: 'invalid_grant' } })
  t.match(await userinfo(platform, token), {
    status: 401,
    headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
  })
})

t.test('of twenty who present a code at once one gets a token', async (t) => {
  const { platform, player, app } = await start(t)
  const code = await obtainCode(player, app)
  const answers = await Promise.all(Array.from({ length: 20 }, () => exchange(platform.stranger, app, code)))
  t.same(answers.map(({ status }) => status).sort(), [200, ...Array(19).fill(400)])
  t.equal(await platform.app.db.em().count(AccessToken), 0, 'and that one died with the replays')
})

t.test('a code lives a minute, a token an hour', async (t) => {
  const { platform, player, app } = await start(t)
  const late = await obtainCode(player, app)
  platform.clock.advance(60_000)
  t.match(await exchange(platform.stranger, app, late), { status: 400, body: { error: 'invalid_grant' } })
  const { access_token: token } = (await exchange(platform.stranger, app, await obtainCode(player, app))).body
  platform.clock.advance(3_599_000)
  t.equal((await userinfo(platform, token)).status, 200)
  platform.clock.advance(1000)
  t.equal((await userinfo(platform, token)).status, 401)
  await platform.app.identity.sweep()
  t.equal(await platform.app.db.em().count(AccessToken), 0, 'what has run out is forgotten')
})

t.test('a public client proves itself by PKCE alone', async (t) => {
  const { platform, player } = await start(t)
  const app = await registerApp(platform, player, { public: true })
  const { verifier, challenge } = pkce()
  const without = { client_secret: undefined }
  const code = await obtainCode(player, app, challenge)
  t.match(await exchange(platform.stranger, app, code, { ...without }), { body: { error: 'invalid_grant' } })
  const secret = await exchange(platform.stranger, app, code, { client_secret: 'x', code_verifier: verifier })
  t.match(secret, { status: 401, body: { error: 'invalid_client' } }, 'it has no secret')
  t.equal((await exchange(platform.stranger, app, code, { ...without, code_verifier: verifier })).status, 200)
})

t.test('codes, tokens and sessions die with what they rest on', async (t) => {
  const { platform, player, app } = await start(t)
  const program = await platform.program(player)
  const grant = async () => {
    const { access_token: token } = (await exchange(platform.stranger, app, await obtainCode(player, app))).body
    return { token, code: await obtainCode(player, app) }
  }
  const isDead = async ({ token, code }: { token: string; code: string }, what: string) => {
    t.equal((await userinfo(platform, token)).status, 401, `${what}: the token`)
    t.ok([400, 401].includes((await exchange(platform.stranger, app, code)).status), `${what}: the code`)
  }

  let given = await grant()
  const rotated = await program.post(`/api/oauth/apps/${app.id}/secret`)
  app.clientSecret = rotated.body.clientSecret
  await isDead(given, 'a new secret')

  given = await grant()
  await platform.app.identity.passwords.reset('ada@example.org', 'another yard battery')
  await isDead(given, 'a new password')
  t.equal((await player.get('/api/auth/session')).body.signedIn, false)

  await player.post('/api/auth/sign-in', { email: 'ada@example.org', password: 'another yard battery' })
  given = await grant()
  await platform.app.db.em().nativeUpdate(PlayerRow, { id: player.id }, { disabled: true })
  await platform.app.events.emit('player.changed', { playerId: player.id })
  await isDead(given, 'a disabled player')
  t.equal((await player.get('/api/auth/session')).body.signedIn, false)
  t.equal((await program.get('/api/cli/whoami')).status, 401)
  const signIn = { email: 'ada@example.org', password: 'another yard battery' }
  t.match(await player.post('/api/auth/sign-in', signIn), {
    status: 403,
    body: { error: { code: 'account_disabled' } },
  })

  await platform.app.db.em().nativeUpdate(PlayerRow, { id: player.id }, { disabled: false })
  await platform.app.events.emit('player.changed', { playerId: player.id })
  await player.post('/api/auth/sign-in', signIn)
  given = await grant()
  t.equal((await program.delete(`/api/oauth/apps/${app.id}`)).status, 204)
  await isDead(given, 'a deleted application')
})

t.test('a game that lives here redeems its code without a secret, by the same rules', async (t) => {
  const { platform, player, app } = await start(t)
  const { codes } = platform.app.identity
  const { verifier: codeVerifier, challenge } = pkce()
  const code = await obtainCode(player, app, challenge)
  const presented = { clientId: app.clientId, code, redirectUri: REDIRECT_URI, codeVerifier }
  await t.rejects(codes.redeem({ ...presented, codeVerifier: 'x'.repeat(43) }), InvalidGrant)
  await t.rejects(codes.redeem({ ...presented, clientId: 'x' }), InvalidGrant)
  t.match(await codes.redeem(presented), { player: { id: player.id, name: 'Ada' }, scope: ['profile', 'email'] })
  await t.rejects(codes.redeem(presented), InvalidGrant)
})

t.test('a client has sixty requests a minute, which nobody can use up for it', async (t) => {
  const { platform, player, app } = await start(t, { limits: { rateLimits: true, tokenRequestsPerMinute: 5 } })
  for (let round = 0; round < 5; round++) {
    t.equal((await exchange(platform.stranger, app, 'x', { client_secret: 'wrong' })).status, 401)
  }
  t.equal((await exchange(platform.stranger, app, 'x', { client_secret: 'wrong' })).status, 429)
  t.equal((await exchange(platform.stranger, app, await obtainCode(player, app))).status, 200, 'the real one')
  for (let round = 0; round < 4; round++) t.equal((await exchange(platform.stranger, app, 'x')).status, 400)
  const refused = await exchange(platform.stranger, app, 'x')
  t.match(refused, {
    status: 429,
    body: { error: 'temporarily_unavailable' },
    headers: { 'cache-control': 'no-store' },
  })
  t.ok(Number(refused.headers['retry-after']) > 0)
})

t.test('the metadata names what is there', async (t) => {
  const { platform } = await start(t)
  const { status, body, headers } = await platform.stranger.get('/.well-known/oauth-authorization-server')
  t.equal(status, 200)
  t.equal(headers['access-control-allow-origin'], '*')
  t.match(body, {
    issuer: 'http://localhost:8080',
    authorization_endpoint: 'http://localhost:8080/oauth/authorize',
    token_endpoint: 'http://localhost:8080/api/oauth/token',
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
  })
})
