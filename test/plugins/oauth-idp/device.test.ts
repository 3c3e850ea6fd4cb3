import t from 'tap'
import { OAuthAppRow } from '../../../plugins/oauth-idp/apps/entities.ts'
import { AccessToken } from '../../../plugins/oauth-idp/oauth/entities.ts'
import { PlayerRow } from '../../../plugins/oauth-idp/players/entities.ts'
import { ApiToken } from '../../../plugins/tokens/entities.ts'
import { callEndpoint, registerApp } from '../../kit/oauth.ts'
import { Client, type Platform, startPlatform } from '../../kit/platform.ts'

const CLI = { clientId: 'gameyard-cli' }
const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'

const start = async (t: Parameters<typeof startPlatform>[0], limits: Record<string, unknown> = {}) => {
  const platform = await startPlatform(t, { only: ['oauth-idp', 'tokens'], config: { limits } })
  return { platform, player: await platform.signUp({ name: 'Ada' }) }
}

const begin = async (
  platform: Platform,
  app: Parameters<typeof callEndpoint>[1] = CLI,
  more: Record<string, string> = {},
) => (await callEndpoint(platform.stranger, app, 'device_authorization', more)).body

const poll = (platform: Platform, deviceCode: string, app: Parameters<typeof callEndpoint>[1] = CLI) =>
  callEndpoint(platform.stranger, app, 'token', { grant_type, device_code: deviceCode })

t.test('a player has as many CLI tokens as the limit says, and gets one more when one is revoked', async (t) => {
  const { platform, player } = await start(t, { tokensPerPlayer: 1 })
  const approved = async () => {
    const device = await begin(platform)
    await player.submit('/oauth/device', { user_code: device.user_code, decision: 'allow' })
    platform.clock.advance(5000)
    return device.device_code as string
  }
  const api = await player.post('/api/tokens', { label: 'API', scopes: ['games:read'] })
  t.equal(api.status, 201)
  const first = await poll(platform, await approved())
  t.equal(first.status, 200, 'API tokens do not count')
  const code = await approved()
  t.match(await poll(platform, code), { status: 409, body: { error_description: /1 CLI tokens/ } })
  t.equal((await new Client(platform.app, first.body.access_token).delete('/api/cli/tokens')).status, 204)
  platform.clock.advance(5000)
  t.equal((await poll(platform, code)).status, 200, 'and the approval was not used up')
})

t.test('the command line signs in by a code that its player approves, and gets a token of full access', async (t) => {
  const { platform, player } = await start(t)
  const machine = { label: 'laptop at home', machine: 'tower\u202e<b>\n.local' }
  const answer = await callEndpoint(platform.stranger, CLI, 'device_authorization', machine)
  t.match(answer, { status: 200, headers: { 'cache-control': 'no-store' } })
  const device = answer.body
  t.match(device, {
    user_code: /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/,
    verification_uri: `${platform.portal}/oauth/device`,
    verification_uri_complete: `${platform.portal}/oauth/device?user_code=${device.user_code}`,
    expires_in: 600,
    interval: 5,
  })
  t.match(await poll(platform, device.device_code), { status: 400, body: { error: 'authorization_pending' } })

  const typed = ` ${device.user_code.toLowerCase().replace('-', ' ')}`
  const page = await player.get(`/oauth/device?user_code=${encodeURIComponent(typed)}`)
  t.match(page, { status: 200, headers: { 'cache-control': 'no-store' } })
  for (const shown of ['laptop at home', 'tower &lt;b> .local', device.user_code, 'Ada', 'everything']) {
    t.match(page.text, shown)
  }
  const form = { user_code: device.user_code, decision: 'allow' }
  t.equal((await player.submit('/oauth/device', form, { headers: { origin: 'https://evil.example' } })).status, 403)
  t.match(await platform.stranger.submit('/oauth/device', form), { headers: { location: /^\/sign-in/ } })
  const done = await player.submit('/oauth/device', form)
  t.match(done, { status: 303, headers: { location: /^\/oauth\/device\?done=approved$/ } })
  t.match((await player.get('/oauth/device?done=approved')).text, /signed in/)

  platform.clock.advance(5000)
  const token = await poll(platform, device.device_code)
  t.match(token, { status: 200, body: { access_token: /^svc_cli_[0-9A-Za-z]{38}$/, token_type: 'Bearer' } })
  t.notHas(token.body, 'expires_in', 'until it is revoked')
  const cli = new Client(platform.app, token.body.access_token)
  t.match((await cli.get('/api/cli/whoami')).body, {
    user: { id: player.id, name: 'Ada' },
    tokenLabel: 'laptop at home',
  })
  t.equal((await cli.get('/api/oauth/apps')).status, 200, 'full access')
  const again = await poll(platform, device.device_code)
  t.match(again, { status: 400, body: { error: 'invalid_grant' } }, 'once')
  t.equal((await cli.delete('/api/cli/tokens')).status, 204)
  t.equal((await cli.get('/api/cli/whoami')).status, 401)
  t.match((await player.get('/settings/connected')).text, /Nothing has access yet/, 'the command line is no game')
})

t.test('whoever asks too fast is told so, and has to wait longer each time', async (t) => {
  const { platform } = await start(t)
  const { device_code: code } = await begin(platform)
  const says = async (afterMs: number) => {
    platform.clock.advance(afterMs)
    return (await poll(platform, code)).body.error
  }
  t.equal(await says(0), 'authorization_pending')
  t.equal(await says(1000), 'slow_down')
  t.equal(await says(5000), 'slow_down', 'ten seconds now')
  t.equal(await says(15_000), 'authorization_pending')
  t.equal(await says(600_000), 'expired_token')
  await platform.app.identity.sweep()
  platform.clock.advance(3_600_000)
  await platform.app.identity.sweep()
  t.equal(await says(0), 'invalid_grant', 'forgotten in the end')
})

t.test('a no is a no, and a code is answered once', async (t) => {
  const { platform, player } = await start(t)
  const device = await begin(platform)
  const form = { user_code: device.user_code, decision: 'deny' }
  t.equal((await player.submit('/oauth/device', form)).headers.location, '/oauth/device?done=denied')
  const late = await (await platform.signUp()).submit('/oauth/device', { ...form, decision: 'allow' })
  t.match(late, { status: 400, text: /no device waiting/ })
  t.match(await poll(platform, device.device_code), { status: 400, body: { error: 'access_denied' } })
  const expired = await begin(platform)
  platform.clock.advance(600_000)
  t.equal((await player.get(`/oauth/device?user_code=${expired.user_code}`)).status, 400)
})

t.test('of twenty who ask at once with an approved code one gets a token', async (t) => {
  const { platform, player } = await start(t)
  const device = await begin(platform)
  await player.submit('/oauth/device', { user_code: device.user_code, decision: 'allow' })
  const answers = await Promise.all(Array.from({ length: 20 }, () => poll(platform, device.device_code)))
  t.equal(answers.filter(({ status }) => status === 200).length, 1)
  t.equal((await player.get('/api/tokens')).body.tokens.length, 1)
})

t.test("a game's device gets an access token of the scopes that were shown", async (t) => {
  const { platform, player } = await start(t)
  const owner = await platform.signUp()
  const app = await registerApp(platform, owner)
  const device = await begin(platform, app, { scope: 'openid email offline_access' })
  t.match((await player.get(`/oauth/device?user_code=${device.user_code}`)).text, /your email address/)
  await player.submit('/oauth/device', { user_code: device.user_code, decision: 'allow' })
  const other = await registerApp(platform, owner, { name: 'Other' })
  t.match(await poll(platform, device.device_code, other), { body: { error: 'invalid_grant' } }, 'nobody else does')
  const { body } = await poll(platform, device.device_code, app)
  t.match(body, {
    access_token: /^svc_oat_/,
    refresh_token: /^svc_ort_/,
    id_token: /^ey/,
    expires_in: 3600,
    scope: 'openid email offline_access',
    user: { id: player.id, email: player.account.email },
  })
  t.match((await player.get('/settings/connected')).text, 'Rooftop Relay')
  const disabled = await begin(platform, app)
  await player.submit('/oauth/device', { user_code: disabled.user_code, decision: 'allow' })
  await platform.app.identity.passwords.reset(player.account.email, 'another yard battery')
  t.match(await poll(platform, disabled.device_code, app), { body: { error: 'invalid_grant' } }, 'a new password')
})

t.test('a client that registered itself has no device flow', async (t) => {
  const { platform, player } = await start(t)
  const { body } = await platform.stranger.post('/api/oauth/register', { redirect_uris: ['http://127.0.0.1/done'] })
  const refused = { status: 400, body: { error: 'unauthorized_client' } }
  const itself = { clientId: body.client_id }
  t.match(await callEndpoint(platform.stranger, itself, 'device_authorization', { scope: 'ai:generate' }), refused)
  const app = await registerApp(platform, player, { public: true })
  const device = await begin(platform, app, { scope: 'ai:generate' })
  await player.submit('/oauth/device', { user_code: device.user_code, decision: 'allow' })
  await platform.app.db.em().nativeUpdate(OAuthAppRow, { clientId: app.clientId }, { registration: 'dynamic' })
  t.match(await poll(platform, device.device_code, app), refused)
})

t.test('a suspended game signs nobody in by device', async (t) => {
  const { platform, player } = await start(t)
  const app = await registerApp(platform, player)
  const device = await begin(platform, app)
  await player.submit('/oauth/device', { user_code: device.user_code, decision: 'allow' })
  platform.app.identity.suspendedClients.checkWith(async ({ clientId }) => clientId === app.clientId)
  t.match(await callEndpoint(platform.stranger, app, 'device_authorization'), { body: { error: 'access_denied' } })
  t.match(await poll(platform, device.device_code, app), { body: { error: 'invalid_grant' } })
  t.equal((await begin(platform)).expires_in, 600, 'others still begin')
})

t.test('whoever is disabled while a device code is redeemed gets nothing', async (t) => {
  const { platform, player } = await start(t)
  const { db } = platform.app
  for (const app of [CLI, await registerApp(platform, player)]) {
    const device = await begin(platform, app)
    await player.submit('/oauth/device', { user_code: device.user_code, decision: 'allow' })
    const count = async () => (await db.em().count(AccessToken)) + (await db.em().count(ApiToken))
    const before = await count()
    // The code is left, as for a request that has read it when the account is disabled.
    const disable = (disabled: boolean) => db.em().nativeUpdate(PlayerRow, { id: player.id }, { disabled })
    await disable(true)
    t.match(await poll(platform, device.device_code, app), { status: 400, body: { error: 'invalid_grant' } })
    t.equal(await count(), before)
    await disable(false)
    t.equal((await poll(platform, device.device_code, app)).status, 200)
  }
})

t.test('guessing user codes is stopped by account', async (t) => {
  const { platform, player } = await start(t, { rateLimits: true, deviceCodeAttemptsPerMinute: 5 })
  const device = await begin(platform)
  for (let round = 0; round < 5; round++) t.equal((await player.get('/oauth/device?user_code=BCDF-GHJK')).status, 400)
  const refused = await player.get(`/oauth/device?user_code=${device.user_code}`)
  t.equal(refused.status, 429, 'even the right one')
  t.ok(Number(refused.headers['retry-after']) > 0)
  t.notMatch(refused.text, 'Allow')
  const form = { user_code: device.user_code, decision: 'allow' }
  t.equal((await player.submit('/oauth/device', form)).status, 429)
})
