import t from 'tap'
import { AccessToken, RefreshToken } from '../../../plugins/oauth-idp/oauth/entities.ts'
import { callEndpoint, exchange, obtainCode, obtainTokens, registerApp } from '../../kit/oauth.ts'
import { Client, type Platform, startPlatform } from '../../kit/platform.ts'

const SCOPE = 'profile email offline_access'

async function start(t: Parameters<typeof startPlatform>[0], config = {}) {
  const platform = await startPlatform(t, { only: ['oauth-idp', 'tokens'], config })
  const player = await platform.signUp({ name: 'Ada' })
  const app = await registerApp(platform, player)
  const tokens = await obtainTokens(player, platform.stranger, app, SCOPE)
  const refresh = (token: string, changes: Record<string, string | undefined> = {}) =>
    callEndpoint(platform.stranger, app, 'token', { grant_type: 'refresh_token', refresh_token: token, ...changes })
  return { platform, player, app, tokens, refresh }
}

const works = async (platform: Platform, token: string) =>
  (await new Client(platform.app, token).get('/api/oauth/userinfo')).status === 200

t.test('a refresh token gives new tokens and its own successor', async (t) => {
  const { platform, tokens, refresh, player, app } = await start(t)
  t.match(tokens.refresh_token, /^svc_ort_[\w-]{43}$/)
  const without = await obtainTokens(player, platform.stranger, app, 'profile')
  t.equal(without.refresh_token, undefined, 'only with offline_access')
  platform.clock.advance(3_600_000)
  t.notOk(await works(platform, tokens.access_token), 'the first has run out')
  const next = await refresh(tokens.refresh_token)
  t.match(next, {
    status: 200,
    headers: { 'cache-control': 'no-store' },
    body: { token_type: 'Bearer', expires_in: 3600, scope: SCOPE, user: { name: 'Ada', id: player.id } },
  })
  t.not(next.body.refresh_token, tokens.refresh_token)
  t.ok(await works(platform, next.body.access_token))
  const third = await refresh(next.body.refresh_token)
  t.equal(third.status, 200)
  platform.clock.advance(30 * 86_400_000)
  t.match(await refresh(third.body.refresh_token), { status: 400, body: { error: 'invalid_grant' } }, 'thirty days')
  await platform.app.identity.sweep()
  t.equal(await platform.app.db.em().count(RefreshToken), 0, 'what has run out is forgotten')
})

t.test('whoever presents a used one ends the family', async (t) => {
  const { platform, tokens, refresh, player, app } = await start(t)
  const apart = await obtainTokens(player, platform.stranger, app, SCOPE)
  const next = (await refresh(tokens.refresh_token)).body
  platform.clock.advance(10_001)
  t.match(await refresh(tokens.refresh_token), { status: 400, body: { error: 'invalid_grant' } })
  t.match(await refresh(next.refresh_token), { status: 400, body: { error: 'invalid_grant' } }, 'its successor is dead')
  t.notOk(await works(platform, next.access_token))
  t.notOk(await works(platform, tokens.access_token))
  t.equal((await refresh(apart.refresh_token)).status, 200, 'another sign-in of the same player goes on')
})

t.test('within ten seconds a used one gives the same successor, until that is used', async (t) => {
  const { platform, tokens, refresh, player } = await start(t)
  const answers = await Promise.all(Array.from({ length: 20 }, () => refresh(tokens.refresh_token)))
  t.same([...new Set(answers.map(({ status }) => status))], [200])
  t.equal(new Set(answers.map(({ body }) => body.refresh_token)).size, 1)
  for (const { body } of answers.slice(0, 3)) t.ok(await works(platform, body.access_token))
  t.equal(await platform.app.db.em().count(RefreshToken), 2)
  platform.clock.advance(10_000)
  const late = await refresh(tokens.refresh_token)
  t.equal(late.status, 200)
  const third = await refresh(late.body.refresh_token)
  t.match(third, { status: 200, body: { user: { id: player.id } } })
  t.match(await refresh(tokens.refresh_token), { status: 400, body: { error: 'invalid_grant' } })
  t.equal(await platform.app.db.em().count(RefreshToken), 0, 'its successor was used, so somebody has an old token')
  t.equal(await platform.app.db.em().count(AccessToken), 0)
})

t.test('without a leeway, of twenty who refresh at once one at most wins, and the family dies', async (t) => {
  const { platform, tokens, refresh } = await start(t, { oauth: { refreshLeewaySeconds: 0 } })
  const answers = await Promise.all(Array.from({ length: 20 }, () => refresh(tokens.refresh_token)))
  t.ok(answers.filter(({ status }) => status === 200).length <= 1)
  t.equal(await platform.app.db.em().count(RefreshToken), 0)
  t.equal(await platform.app.db.em().count(AccessToken), 0)
})

t.test('a replayed code ends what its refresh tokens gave', async (t) => {
  const { platform, player, app, refresh } = await start(t)
  const code = await obtainCode(player, app, { scope: SCOPE })
  const first = (await exchange(platform.stranger, app, code)).body
  const second = (await refresh(first.refresh_token)).body
  platform.clock.advance(7_200_000)
  await platform.app.identity.sweep()
  t.match(await exchange(platform.stranger, app, code), { status: 400, body: { error: 'invalid_grant' } })
  t.match(await refresh(second.refresh_token), { status: 400, body: { error: 'invalid_grant' } })
})

t.test('a scope can shrink and not grow', async (t) => {
  const { tokens, refresh } = await start(t)
  t.match(await refresh(tokens.refresh_token, { scope: 'profile ai:generate' }), {
    status: 400,
    body: { error: 'invalid_scope' },
  })
  const less = await refresh(tokens.refresh_token, { scope: 'profile' })
  t.match(less, { status: 200, body: { scope: 'profile' } })
  t.notHas(less.body.user, 'email')
  t.match(await refresh(less.body.refresh_token), { body: { scope: SCOPE } }, 'the grant itself stays')
})

t.test('only its own client can use or end it', async (t) => {
  const { platform, player, tokens, refresh } = await start(t)
  const other = await registerApp(platform, player, { name: 'Other' })
  const stolen = { client_id: other.clientId, client_secret: other.clientSecret }
  t.match(await refresh(tokens.refresh_token, stolen), { status: 400, body: { error: 'invalid_grant' } })
  const revoked = await callEndpoint(platform.stranger, other, 'revoke', { token: tokens.refresh_token })
  t.equal(revoked.status, 200, 'RFC 7009 says nothing of it')
  t.equal((await callEndpoint(platform.stranger, other, 'revoke', { token: tokens.access_token })).status, 200)
  t.ok(await works(platform, tokens.access_token))
  t.match(await refresh('svc_ort_x'), { status: 400, body: { error: 'invalid_grant' } })
  t.equal((await refresh(tokens.refresh_token)).status, 200)
})

t.test('they die with what they rest on', async (t) => {
  const { platform, player, app, tokens, refresh } = await start(t)
  await player.submit(`/settings/connected/${app.clientId}/revoke`, {})
  t.match(await refresh(tokens.refresh_token), { status: 400 }, 'a withdrawn consent')
  const again = await obtainTokens(player, platform.stranger, app, SCOPE)
  await platform.app.identity.passwords.reset(player.account.email, 'another yard battery')
  t.match(await refresh(again.refresh_token), { status: 400 }, 'a new password')
})
