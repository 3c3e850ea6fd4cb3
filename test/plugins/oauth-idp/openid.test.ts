import { createHash } from 'node:crypto'
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import t from 'tap'
import {
  authorizeUrl,
  callEndpoint,
  decide,
  exchange,
  obtainCode,
  redirectParameters,
  registerApp,
} from '../../kit/oauth.ts'
import { Client, type Platform, startPlatform } from '../../kit/platform.ts'

async function start(t: Parameters<typeof startPlatform>[0]) {
  const platform = await startPlatform(t, { only: ['oauth-idp', 'tokens'] })
  const player = await platform.signUp({ name: 'Ada' })
  return { platform, player, app: await registerApp(platform, player) }
}

const keysOf = async (platform: Platform, algorithm = 'ES256') =>
  (await platform.stranger.get('/api/oauth/jwks')).body.keys.filter(({ alg }: { alg: string }) => alg === algorithm)

async function verify(platform: Platform, token: string, audience: string, algorithm = 'ES256') {
  const keys = createLocalJWKSet({ keys: await keysOf(platform, algorithm) })
  const currentDate = platform.clock.now()
  return (await jwtVerify(token, keys, { issuer: platform.portal, audience, currentDate, algorithms: [algorithm] }))
    .payload
}

t.test('openid gives an id token that the published keys verify', async (t) => {
  const { platform, player, app } = await start(t)
  const signedIn = Math.floor(platform.clock.now().getTime() / 1000)
  platform.clock.advance(5000)
  const nonce = 'n-0S6 _WzA2Mj&<>'
  const code = await obtainCode(player, app, { scope: 'openid profile', nonce })
  const { body } = await exchange(platform.stranger, app, code)
  const claims = await verify(platform, body.id_token, app.clientId)
  t.match(claims, { sub: player.id, nonce, auth_time: signedIn, iat: signedIn + 5, name: 'Ada' })
  t.notHas(claims, 'email')
  const digest = createHash('sha256').update(body.access_token).digest().subarray(0, 16)
  t.equal(claims.at_hash, digest.toString('base64url'))
  t.equal((await new Client(platform.app, body.access_token).get('/api/oauth/userinfo')).body.sub, claims.sub)
  const plain = await exchange(platform.stranger, app, await obtainCode(player, app, { scope: 'profile' }))
  t.equal(plain.body.id_token, undefined, 'only with openid')
})

t.test('two keys are published, and a rotation leaves nobody with an unknown one', async (t) => {
  const { platform, player, app } = await start(t)
  const signed = async () =>
    (await exchange(platform.stranger, app, await obtainCode(player, app, { scope: 'openid' }))).body.id_token
  const kid = (token: string) => decodeProtectedHeader(token).kid
  const before = await keysOf(platform)
  t.equal(before.length >= 2, true)
  for (const key of before) {
    t.match(key, { kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig', kid: String })
    t.notHas(key, 'd', 'nothing private')
  }
  const first = await signed()
  platform.clock.advance(20 * 86_400_000)
  await player.get('/settings') // the browser session is rolling
  platform.clock.advance(10 * 86_400_000)
  const second = await signed()
  t.not(kid(second), kid(first), 'another month, another key')
  t.ok(
    before.some((key: { kid: string }) => key.kid === kid(second)),
    'which was published before',
  )
  platform.clock.advance(2 * 86_400_000)
  await platform.app.identity.sweep()
  t.equal((await keysOf(platform)).length, 2)
  const { identity, db, clock, keys, keyRings } = platform.app
  const { SigningKeys } = await import('../../../plugins/oauth-idp/oauth/signing-keys.ts')
  const node = new SigningKeys('ES256', { db, clock, keyRings, wrappingKey: keys.derive('oauth-idp/signing-keys') })
  t.equal(
    (await node.current()).kid,
    (await identity.signingKeys.ES256.current()).kid,
    'another node signs with the same',
  )
  const foreign = new SigningKeys('ES256', { db, clock, keyRings, wrappingKey: keys.derive('another secret') })
  await t.rejects(foreign.current(), /encrypted under another secret/)
})

t.test('keys that are turned over by hand go on through an overlap, and stolen ones end at once', async (t) => {
  const { platform, player, app } = await start(t)
  const { keyRings, identity } = platform.app
  const signed = async () =>
    (await exchange(platform.stranger, app, await obtainCode(player, app, { scope: 'openid' }))).body.id_token
  const kids = async () => (await keysOf(platform)).map((key: { kid: string }) => key.kid) as string[]
  const kid = (token: string) => decodeProtectedHeader(token).kid as string
  const first = await signed()
  const before = await kids()
  platform.clock.advance(1000)
  await keyRings.rotate('signing', { immediate: false })
  const second = await signed()
  t.not(kid(second), kid(first))
  t.ok(before.includes(kid(second)), 'clients that keep the set know the new one')
  t.ok((await kids()).includes(kid(first)), 'both are published')
  await verify(platform, first, app.clientId)
  await verify(platform, second, app.clientId)
  await identity.sweep()
  t.equal((await kids()).length, 3)
  platform.clock.advance(86_400_000)
  await identity.sweep()
  t.equal((await kids()).length, 2, 'a day later the old one is gone')

  const third = await signed()
  const stolen = await kids()
  await keyRings.rotate('signing', { immediate: true })
  const fresh = await kids()
  t.same(
    fresh.filter((one) => stolen.includes(one)),
    [],
    'the next one, which was there already, is not used either',
  )
  await t.rejects(verify(platform, third, app.clientId), { code: 'ERR_JWKS_NO_MATCHING_KEY' })
  await verify(platform, await signed(), app.clientId)
  await identity.sweep()
  t.same(await kids(), fresh)
  const rows = await platform.app.db.query('select period from oauth_signing_keys')
  t.equal(rows.length, 2, 'what was stolen is not kept')
})

t.test('an application may have its id tokens signed by RS256', async (t) => {
  const { platform, player, app } = await start(t)
  const signed = async () =>
    (await exchange(platform.stranger, app, await obtainCode(player, app, { scope: 'openid' }))).body.id_token
  const url = `/api/oauth/apps/${app.id}`
  t.match((await player.get(url)).body, { idTokenSignedResponseAlg: 'ES256' })
  t.match((await player.patch(url, { idTokenSignedResponseAlg: 'RS256' })).body, { idTokenSignedResponseAlg: 'RS256' })
  t.equal((await player.patch(url, { idTokenSignedResponseAlg: 'HS256' })).status, 400)
  const token = await signed()
  t.equal(decodeProtectedHeader(token).alg, 'RS256')
  await verify(platform, token, app.clientId, 'RS256')
  const keys = await keysOf(platform, 'RS256')
  t.equal(keys.length, 2)
  for (const key of keys) t.same(Object.keys(key).sort(), ['alg', 'e', 'kid', 'kty', 'n', 'use'], 'nothing private')
  const hint = await platform.stranger.get(`/oauth/logout?id_token_hint=${token}`)
  t.equal(hint.status, 303)
  t.match(await player.get(`/oauth/logout?id_token_hint=${token}`), { status: 303 }, 'its own token needs no question')
})

t.test('the authorization endpoint takes forms, and leaves out scopes that it does not know', async (t) => {
  const { platform, player, app } = await start(t)
  const asked = { ...app, scope: 'openid groups https://example.org/all' }
  const { pathname, searchParams } = new URL(authorizeUrl(app, { scope: asked.scope }), platform.portal)
  const fields = Object.fromEntries(searchParams)
  const sent = await platform.stranger.submit(pathname, fields, { headers: { origin: 'https://game.example' } })
  t.equal(sent.status, 303)
  t.same(Object.fromEntries(new URL(sent.headers.location as string, platform.portal).searchParams), fields)
  const { body } = await exchange(platform.stranger, app, await obtainCode(player, app, { scope: asked.scope }))
  t.equal(body.scope, 'openid', 'the answer says what was granted')
})

t.test('the address that a game suggests is in the form', async (t) => {
  const { platform, app } = await start(t)
  const hinted = async (hint: string) => {
    const { headers } = await platform.stranger.get(authorizeUrl(app, { login_hint: hint }))
    return (await platform.stranger.get(headers.location as string)).text
  }
  t.match(await hinted('Ada@example.org'), 'value="ada@example.org"')
  t.notMatch(await hinted('no address'), 'value="no address"')
})

t.test('of nodes that start at once one key wins', async (t) => {
  const { platform } = await start(t)
  const { SigningKeys } = await import('../../../plugins/oauth-idp/oauth/signing-keys.ts')
  const { db, clock, keys, keyRings } = platform.app
  const wrappingKey = keys.derive('oauth-idp/signing-keys')
  const nodes = Array.from({ length: 8 }, () =>
    new SigningKeys('RS256', { db, clock, keyRings, wrappingKey }).current(),
  )
  t.equal(new Set((await Promise.all(nodes)).map(({ kid }) => kid)).size, 1)
})

t.test('the metadata says what there is', async (t) => {
  const { platform } = await start(t)
  const openid = await platform.stranger.get('/.well-known/openid-configuration')
  t.match(openid, { status: 200, headers: { 'access-control-allow-origin': '*' } })
  t.match(openid.body, {
    issuer: platform.portal,
    jwks_uri: `${platform.portal}/api/oauth/jwks`,
    id_token_signing_alg_values_supported: ['RS256', 'ES256'],
    subject_types_supported: ['public'],
    grant_types_supported: ['authorization_code', 'refresh_token', /device_code/],
  })
  const oauth = await platform.stranger.get('/.well-known/oauth-authorization-server')
  t.same(oauth.body, openid.body)
  const endpoints = Object.entries(openid.body as Record<string, string>).filter(([name]) =>
    /_endpoint$|_uri$/.test(name),
  )
  t.equal(endpoints.length, 9)
  for (const [name, url] of endpoints) {
    const { status } = await platform.stranger.get(url.slice(platform.portal.length))
    t.ok([200, 303, 400, 401, 405].includes(status), `${name} is there`)
  }
})

t.test('max_age asks for a fresh sign-in', async (t) => {
  const { platform, player, app } = await start(t)
  const url = (changes: Record<string, string>) => authorizeUrl(app, { scope: 'openid', ...changes })
  await decide(player, url({}), 'allow')
  platform.clock.advance(60_000)
  t.ok(redirectParameters(await player.get(url({ max_age: '61' })))?.code)
  t.match(redirectParameters(await player.get(url({ max_age: '59', prompt: 'none' }))), { error: 'login_required' })
  const asked = await player.get(url({ max_age: '59' }))
  t.match(asked.headers.location, /^\/sign-in\?prompt=login/)
  t.match(redirectParameters(await player.get(url({ max_age: 'soon' }))), { error: 'invalid_request' })
  t.match(redirectParameters(await player.get(url({ nonce: 'n'.repeat(501) }))), { error: 'invalid_request' })
})

t.test('a game signs its player out, and nobody else can without being asked', async (t) => {
  const { platform, player, app } = await start(t)
  const { body } = await exchange(platform.stranger, app, await obtainCode(player, app, { scope: 'openid' }))
  const signedIn = async (who: Client) => (await who.get('/api/auth/session')).body.signedIn
  const back = 'https://game.example/bye?x=1'
  const logout = (parameters: Record<string, string>) => `/oauth/logout?${new URLSearchParams(parameters)}`

  const other = await platform.signUp()
  const foreign = await other.get(logout({ id_token_hint: body.id_token, post_logout_redirect_uri: back }))
  t.match(foreign, { status: 200, text: /Sign out\?/ }, "another player's token signs nobody out")
  t.match(await player.get(logout({})), { status: 200, text: /Sign out\?/ })
  t.match(await player.get(logout({ id_token_hint: 'x.y.z' })), { status: 200 })
  t.ok((await signedIn(player)) && (await signedIn(other)))

  for (const address of [
    'https://evil.example/',
    'https://game.example.evil.example/',
    'https://u@game.example/',
    '//x',
  ]) {
    const parameters = { client_id: app.clientId, post_logout_redirect_uri: address }
    const stranger = await platform.stranger.get(logout(parameters))
    t.match(stranger, { status: 303, headers: { location: /^\/$/ } }, address)
    const confirmed = await (await platform.signUp()).submit('/oauth/logout/confirm', parameters)
    t.match(confirmed, { status: 303, headers: { location: /^\/$/ } }, `${address}, confirmed`)
  }
  const posted = await platform.stranger.submit(
    '/oauth/logout',
    { id_token_hint: body.id_token, post_logout_redirect_uri: back, state: 's' },
    { headers: { origin: 'https://game.example' } },
  )
  t.match(posted, { status: 303, headers: { location: /^\/oauth\/logout\?id_token_hint=/ } })
  platform.clock.advance(7_200_000)
  const done = await player.get(posted.headers.location as string)
  t.match(
    done,
    { status: 303, headers: { location: 'https://game.example/bye?x=1&state=s' } },
    'an expired hint is one',
  )
  t.notOk(await signedIn(player))

  const confirmed = await other.submit('/oauth/logout/confirm', {
    client_id: app.clientId,
    post_logout_redirect_uri: back,
  })
  t.equal(confirmed.headers.location, back)
  t.notOk(await signedIn(other))
  const evil = { headers: { origin: 'https://evil.example' } }
  t.equal((await (await platform.signUp()).submit('/oauth/logout/confirm', {}, evil)).status, 403)
})

t.test('an access token names all that a game may do', async (t) => {
  const { platform, player, app } = await start(t)
  const code = await obtainCode(player, app, { scope: 'profile ai:generate' })
  const { body } = await exchange(platform.stranger, app, code)
  t.equal(body.scope, 'profile ai:generate')
  const principal = await platform.app.identity.accessTokens.authenticate(body.access_token)
  t.match(principal, { kind: 'oauth-token', playerId: player.id, clientId: app.clientId })
  t.same(principal?.scopes, new Set(['profile', 'ai:generate']))
  const { body: known } = await callEndpoint(platform.stranger, app, 'introspect', { token: body.access_token })
  t.equal(known.scope, 'profile ai:generate')
})
