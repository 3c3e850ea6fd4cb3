// Who may use whose saves: sessions, origins, previews, suspensions, access tokens and rates.
import t from 'tap'
import { exchange, obtainCode, REDIRECT_URI, registerApp } from '../../kit/oauth.ts'
import { Client, type Platform, type PlayerClient } from '../../kit/platform.ts'
import { deploy } from '../game-edge/kit.ts'
import { signInTo } from '../multiplayer/kit.ts'
import { PlayerSaves, startWithGame } from './kit.ts'

t.test('whoever is signed out, or of another origin, is refused', async (t) => {
  const { ada, platform, host } = await startWithGame(t)
  const nobody = { host }
  for (const path of ['', '/a', '/a/versions']) {
    t.match(await platform.stranger.get(`/__service/saves${path}`, nobody), {
      status: 401,
      body: { error: { code: 'unauthorized' }, signIn: '/auth/service/start' },
    })
  }
  await ada.put('a', '1')
  for (const origin of [platform.portal, 'http://other.localhost:8080', 'null', undefined]) {
    t.match(
      await ada.put('a', '2', { origin }),
      { status: 403, body: { error: { code: 'forbidden' } } },
      String(origin),
    )
    t.equal((await ada.request('DELETE', '/a', undefined, { origin })).status, 403)
    t.equal((await ada.request('POST', '/a/restore', { version: 1 }, { origin })).status, 403)
  }
  t.match(await ada.put('a', '2', { origin: undefined, 'sec-fetch-site': 'same-origin' }), { status: 200 })
  t.match(await ada.request('GET', '/a', undefined, { 'service-worker': 'script' }), { status: 403 })
  const read = await ada.get('a')
  t.equal(read.headers['cross-origin-resource-policy'], 'same-origin', 'a sibling game cannot include it')
  t.match(await ada.put('a', '3', { 'service-player': ada.id }), { status: 200 })
  t.match(await ada.put('a', '3', { 'service-player': 'ply_other' }), {
    status: 409,
    body: { error: { code: 'other_player' } },
  })
})

t.test('saves of one game are not those of another', async (t) => {
  const { ada, owner, platform } = await startWithGame(t)
  await ada.put('a', '1')
  const other = await platform.game(owner, { title: 'Other' })
  const there = platform.gameHost(other.slug)
  await signInTo(ada.player, there)
  t.match(await new PlayerSaves(ada.player, there).get('a'), { status: 404 })
})

t.test('a suspended game, a private one, and a preview', async (t) => {
  const { ada, owner, game, platform, host, app } = await startWithGame(t)
  await ada.put('a', '1')
  const program = await platform.program(owner)
  const deployId = await deploy(platform, program, game.id, { 'index.html': 'hello' })
  const { deploys } = (await program.get(`/api/games/${game.id}/deploys`)).body
  const preview = new URL(deploys.find(({ id }: { id: string }) => id === deployId).previewUrl).host
  await signInTo(owner, preview)
  const there = new PlayerSaves(owner, preview)
  t.match(await there.put('a', '2'), { status: 201 }, 'a preview has the saves of its game')
  await signInTo(owner, host)
  t.equal((await new PlayerSaves(owner, host).get('a')).text, '2')
  t.match(await there.put('a', '2', { origin: `http://${host}` }), { status: 403 }, 'but is an origin of its own')

  await program.patch(`/api/games/${game.id}`, { visibility: 'private' })
  t.match(await ada.get('a'), { status: 404, body: { error: { code: 'not_found' } } })
  await program.patch(`/api/games/${game.id}`, { visibility: 'public' })
  await app.games.suspensions.suspend(game.id, 'spam', { id: owner.id, role: 'admin' })
  t.match(await ada.get('a'), { status: 451, body: { error: { code: 'suspended' } } })
  t.match(await there.put('a', '3'), { status: 451 })
  await app.games.suspensions.lift(game.id, { id: owner.id, role: 'admin' })
  t.equal((await ada.get('a')).text, '1', 'nothing is lost by it')
})

t.test('a guest has saves, and keeps them with the account that the guest makes', async (t) => {
  const { app, host } = await startWithGame(t, { config: { auth: { guests: true } } })
  const guest = new Client(app) as PlayerClient
  const { body } = await guest.post('/api/auth/guest', { name: 'Zoe' })
  t.ok(body.user.id)
  await signInTo(guest, host)
  const saves = new PlayerSaves(guest, host)
  t.match(await saves.put('a', '1'), { status: 201 })
  const account = { name: 'Zoe', email: 'zoe@example.org', password: 'correct yard battery fence' }
  t.equal((await guest.submit('/settings/upgrade', account)).status, 303)
  t.equal((await guest.get('/api/auth/session')).body.user.id, body.user.id)
  await signInTo(guest, host)
  t.equal((await saves.get('a')).text, '1')
})

t.test("a game's own server uses the access token of its player", async (t) => {
  const { ada, platform, game, owner, host } = await startWithGame(t)
  await ada.put('a', '{"from":"the page"}', { 'content-type': 'application/json' })
  const linked = await registerApp(platform, owner, { gameId: game.id })
  const redirectUri = `http://${host}/auth/callback`
  const hosted = { ...linked, clientId: game.clientId, clientSecret: game.oauth.clientSecret }
  const own = (await (await platform.program(owner)).get('/api/oauth/apps')).body.apps.find(
    (app: { clientId: string }) => app.clientId === game.clientId,
  )
  await (await platform.program(owner)).patch(`/api/oauth/apps/${own.id}`, { redirectUris: [redirectUri] })
  const code = await obtainCode(ada.player, hosted, { redirect_uri: redirectUri, scope: 'profile' })
  const { body } = await exchange(platform.stranger, hosted, code, { redirect_uri: redirectUri })
  const server = new Client(platform.app, body.access_token)
  t.match(
    await server.get('/api/saves/a'),
    { status: 200, body: { from: 'the page' } },
    'without the scope, as it is hosted',
  )
  const json = { 'content-type': 'application/json' }
  t.match(await server.put('/api/saves/a', '{"from":"the server"}', { headers: { ...json, 'if-match': '"1"' } }), {
    status: 200,
    body: { version: 2 },
  })
  t.match(await ada.get('a'), { body: { from: 'the server' } })
  t.match(await server.get('/api/saves'), { body: { saves: [{ key: 'a', version: 2 }] } })
  t.match(await server.get('/api/saves/a/versions'), { body: { versions: [{ version: 2 }, { version: 1 }] } })
  t.match(await server.post('/api/saves/a/restore', { version: 1 }), { body: { version: 3 } })
  t.match(await server.delete('/api/saves/a'), { status: 204 })

  const elsewhere = await tokenOf(platform, ada.player, await registerApp(platform, owner), 'profile saves')
  t.match(
    await elsewhere.get('/api/saves'),
    { status: 403, body: { error: { code: 'forbidden' } } },
    'no game of its own',
  )
  for (const client of [platform.stranger, ada.player]) t.equal((await client.get('/api/saves')).status, 401)
  t.equal((await (await platform.program(ada.player)).get('/api/saves')).status, 403, 'an API token is none')
})

t.test('the server of a game elsewhere asks for the scope', async (t) => {
  const { ada, platform, owner } = await startWithGame(t)
  const game = await platform.game(owner, { title: 'Elsewhere', url: 'https://game.example' })
  const own = (await (await platform.program(owner)).get('/api/oauth/apps')).body.apps.find(
    (app: { clientId: string }) => app.clientId === game.clientId,
  )
  await (await platform.program(owner)).patch(`/api/oauth/apps/${own.id}`, { redirectUris: [REDIRECT_URI] })
  const credentials = { id: own.id, clientId: game.clientId, clientSecret: game.oauth.clientSecret }
  const without = await tokenOf(platform, ada.player, credentials, 'profile')
  const refused = await without.get('/api/saves')
  t.match(refused, { status: 403, body: { error: { code: 'missing_scope' } } })
  t.match(refused.headers['www-authenticate'], /insufficient_scope/)
  const server = await tokenOf(platform, ada.player, credentials, 'profile saves')
  t.match(await server.put('/api/saves/a', '1', { headers: { 'content-type': 'text/plain' } }), { status: 201 })
  await platform.app.identity.consents.revoke(ada.id, game.clientId)
  t.equal((await server.get('/api/saves/a')).status, 401)
})

t.test('changes and reads have a rate each, of a player in a game', async (t) => {
  const limits = { rateLimits: true, saveWritesPerMinute: 3, saveReadsPerMinute: 5 }
  const { ada, bob } = await startWithGame(t, { config: { limits } })
  for (let count = 0; count < 3; count++) t.ok((await ada.put('a', '1')).status < 300)
  const refused = await ada.put('a', '1')
  t.match(refused, { status: 429, body: { error: { code: 'rate_limited' } } })
  t.ok(Number(refused.headers['retry-after']) > 0)
  for (let count = 0; count < 5; count++) t.equal((await ada.get('a')).status, 200)
  t.equal((await ada.get('a')).status, 429)
  t.equal((await bob.put('a', '1')).status, 201)
})

t.test('a room script reads and writes saves of a player as JSON, within the same limits', async (t) => {
  const limits = { rateLimits: true, saveBytes: 1000, saveWritesPerMinute: 4, saveReadsPerMinute: 5 }
  const { ada, bob, app, game } = await startWithGame(t, { config: { limits } })
  const { rooms } = app.saves
  const owner = { gameId: game.id, playerId: ada.id }
  t.equal(await rooms.get(owner, 'progress'), undefined)
  await ada.put('progress', '{"level":1}', { 'content-type': 'application/json' })
  t.same(await rooms.get(owner, 'progress'), { level: 1 }, 'what the page saved')
  t.match(await rooms.set(owner, 'progress', { level: 2 }), { key: 'progress', version: 2, size: 11 })
  t.match(await ada.get('progress'), { body: { level: 2 }, headers: { 'content-type': 'application/json' } })
  t.equal((await ada.versions('progress')).body.versions.length, 2, 'the earlier value can be restored')
  await ada.put('picture', '<svg/>', { 'content-type': 'image/svg+xml' })
  await t.rejects(rooms.get(owner, 'picture'), { code: 'save_not_json', statusCode: 409 })
  await t.rejects(rooms.get(owner, 'a/b'), { code: 'invalid_request' })
  await t.rejects(rooms.set(owner, 'a', undefined), { code: 'invalid_request' })
  await t.rejects(rooms.set(owner, 'a', 1n), { code: 'invalid_request' })
  await t.rejects(rooms.set(owner, 'a', 'x'.repeat(1000)), { code: 'save_too_large' })
  await t.rejects(rooms.set(owner, 'a', 1), { code: 'rate_limited' })
  t.match(await ada.put('a', '1'), { status: 201 }, 'the browser has a rate of its own')
  await rooms.get(owner, 'a')
  await rooms.get(owner, 'a')
  await t.rejects(rooms.get(owner, 'a'), { code: 'rate_limited' })
  t.equal(await rooms.get({ ...owner, playerId: bob.id }, 'a'), undefined)
})

async function tokenOf(
  platform: Platform,
  player: PlayerClient,
  app: { id: string; clientId: string; clientSecret: string },
  scope: string,
): Promise<Client> {
  const { body } = await exchange(platform.stranger, app, await obtainCode(player, app, { scope }))
  return new Client(platform.app, body.access_token)
}
