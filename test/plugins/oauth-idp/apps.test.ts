import t from 'tap'
import { exchange, obtainCode, REDIRECT_URI, registerApp } from '../../kit/oauth.ts'
import { startPlatform } from '../../kit/platform.ts'

const only = ['oauth-idp', 'tokens']

t.test('an application is made, read, changed and deleted', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const program = await platform.program(player)
  const made = await program.post('/api/oauth/apps', {
    name: 'Pong',
    homepageUrl: 'https://pong.example',
    gameId: null,
    redirectUris: [REDIRECT_URI],
  })
  t.match(made, { status: 201, headers: { 'cache-control': 'no-store' } })
  const { clientSecret, ...app } = made.body
  t.match(clientSecret, /^[A-Za-z0-9_-]{40,}$/)
  t.match(app.clientId, /^[A-Za-z0-9_-]{20,}$/)
  t.same(app, {
    id: app.id,
    clientId: app.clientId,
    name: 'Pong',
    homepageUrl: 'https://pong.example',
    gameId: null,
    redirectUris: [REDIRECT_URI],
    public: false,
    idTokenSignedResponseAlg: 'ES256',
    createdAt: '2026-11-21T12:00:00.000Z',
    updatedAt: '2026-11-21T12:00:00.000Z',
    lastUsedAt: null,
  })
  const path = `/api/oauth/apps/${app.id}`
  t.same((await program.get(path)).body, app, 'without the secret')
  t.same((await program.get('/api/oauth/apps')).body, { apps: [app], nextCursor: null })

  platform.clock.advance(1000)
  const changed = await program.patch(path, { name: 'Pong 2', redirectUris: ['http://localhost:3000/cb'] })
  t.match(changed, { status: 200, body: { name: 'Pong 2', updatedAt: '2026-11-21T12:00:01.000Z' } })
  t.equal((await program.delete(path)).status, 204)
  t.equal((await program.delete(path)).status, 404)
})

t.test('a list goes on from its cursor', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const program = await platform.program(player)
  for (let number = 0; number < 3; number++) {
    await registerApp(platform, player, { name: `App ${number}` })
    platform.clock.advance(1)
  }
  const first = await program.get('/api/oauth/apps?limit=2')
  t.match(first.body, { apps: [{ name: 'App 2' }, { name: 'App 1' }], nextCursor: String })
  const second = await program.get(`/api/oauth/apps?limit=2&cursor=${first.body.nextCursor}`)
  t.match(second.body, { apps: [{ name: 'App 0' }], nextCursor: null })
})

t.test("somebody else's application is none, whatever the request says", async (t) => {
  const platform = await startPlatform(t, { only })
  const app = await registerApp(platform, await platform.signUp())
  const stranger = await platform.program(await platform.signUp())
  const path = `/api/oauth/apps/${app.id}`
  t.equal((await stranger.get(path)).status, 404)
  t.equal((await stranger.patch(path, { name: '', nonsense: 1 })).status, 404, 'before the body is looked at')
  t.equal((await stranger.post(`${path}/secret?graceSeconds=-1`)).status, 404)
  t.equal((await stranger.delete(path)).status, 404)
  t.same((await stranger.get('/api/oauth/apps')).body.apps, [])
})

t.test('each step needs its scope', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const reader = await platform.program(player, ['oauth:read'])
  const writer = await platform.program(player, ['oauth:write'])
  const { id } = await registerApp(platform, player)
  const missing = (scope: string) => ({
    status: 403,
    body: { error: { code: 'missing_scope', message: `API token is missing the ${scope} scope.` } },
    headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"` },
  })
  t.match(await reader.post('/api/oauth/apps', {}), missing('oauth:write'))
  t.match(await reader.patch(`/api/oauth/apps/${id}`, {}), missing('oauth:write'))
  t.match(await reader.delete(`/api/oauth/apps/${id}`), missing('oauth:write'))
  t.match(await reader.post(`/api/oauth/apps/${id}/secret`), missing('oauth:write'))
  t.match(await writer.get('/api/oauth/apps'), missing('oauth:read'))
  t.match(await writer.get(`/api/oauth/apps/${id}`), missing('oauth:read'))
  t.equal((await platform.stranger.get('/api/oauth/apps')).status, 401)
})

t.test('a redirect URI is a whole https address, or http close by', async (t) => {
  const platform = await startPlatform(t, { only })
  const program = await platform.program(await platform.signUp())
  const attempt = (...redirectUris: string[]) => program.post('/api/oauth/apps', { name: 'x', redirectUris })
  const good = [
    'https://game.example/cb',
    'https://game.example',
    'https://game.example:8443/cb?a=1&b=2',
    'http://localhost:3000/cb',
    'http://pong.localhost:8080/auth/service/callback',
    'http://127.0.0.1/cb',
    'http://[::1]:9/cb',
    'http://192.168.1.20:8080/cb',
    'http://jam.lan/cb',
  ]
  for (const uri of good) t.equal((await attempt(uri)).status, 201, uri)
  const native = { name: 'x', redirectUris: ['com.example.app:/done'] }
  t.equal((await program.post('/api/oauth/apps', { ...native, public: true })).status, 201, 'a scheme of its own')
  t.equal((await program.post('/api/oauth/apps', native)).status, 400, 'for a public application only')
  const bad = [
    'http://game.example/cb',
    'https://game.example/cb#x',
    'https://game.example/cb#',
    'https://*.example/cb',
    'https://user@game.example/cb',
    'https://user:x@game.example/cb',
    'https://@game.example/cb',
    'HTTPS://game.example/cb',
    'https:/game.example/cb',
    'https:\\\\game.example\\cb',
    'https://game.example/a b',
    'https://game.example/\ncb',
    'https://gäme.example/cb',
    'javascript:alert(1)',
    'data:text/html,x',
    'com.example.app:/cb',
    '/auth/callback',
    '',
    'https://',
    'http://8.8.8.8/cb',
    'http://localhost.evil.example/cb',
  ]
  for (const uri of bad) {
    t.match(await attempt(uri), { status: 400, body: { error: { code: 'invalid_request' } } }, JSON.stringify(uri))
  }
  t.equal((await attempt()).status, 400, 'none at all')
  t.equal((await attempt(REDIRECT_URI, REDIRECT_URI)).status, 400, 'one twice')
  t.equal((await attempt(...Array.from({ length: 21 }, (_, n) => `https://g.example/${n}`))).status, 400, 'too many')
  const secure = await startPlatform(t, {
    only,
    config: { portal: { url: 'https://play.example.org' }, games: { domain: 'example-games.net' } },
  })
  const { status } = await (await secure.program(await secure.signUp())).post('/api/oauth/apps', {
    name: 'x',
    redirectUris: ['http://192.168.1.20:8080/cb'],
  })
  t.equal(status, 400, 'on https a neighbour needs https too')
})

t.test('a new secret ends the old one, at once or after its grace', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const program = await platform.program(player)
  const app = await registerApp(platform, player)
  const works = async (clientSecret: string) => {
    const code = await obtainCode(player, app)
    return (await exchange(platform.stranger, { ...app, clientSecret }, code)).status === 200
  }
  const rotate = async (query = '') =>
    (await program.post(`/api/oauth/apps/${app.id}/secret${query}`)).body.clientSecret as string

  const second = await rotate()
  t.equal(await works(app.clientSecret), false)
  t.equal(await works(second), true)
  const third = await rotate('?graceSeconds=60')
  t.same([await works(second), await works(third)], [true, true])
  platform.clock.advance(60_000)
  t.same([await works(second), await works(third)], [false, true])
})

t.test('an application is linked only to a game of its owner', async (t) => {
  const platform = await startPlatform(t)
  const owner = await platform.signUp()
  const game = await platform.game(owner)
  const body = { name: 'x', redirectUris: [REDIRECT_URI], gameId: game.id }
  const theirs = await (await platform.program(await platform.signUp())).post('/api/oauth/apps', body)
  t.equal(theirs.status, 404)
  const program = await platform.program(owner)
  t.match(await program.post('/api/oauth/apps', body), { status: 201, body: { gameId: game.id } })
})

t.test('the application made with a game stays its own, whatever else is linked to it', async (t) => {
  const platform = await startPlatform(t)
  const { apps } = platform.app.identity
  const owner = await platform.signUp()
  const program = await platform.program(owner)
  const elder = await registerApp(platform, owner, { name: 'Elder' })
  platform.clock.advance(1000)
  const game = await platform.game(owner, { title: 'Pong' })
  const host = platform.gameHost(game.slug)
  const player = await platform.signUp()
  const signIn = async () => {
    const started = await player.get('/auth/service/start', { host })
    const authorize = new URL(started.headers.location as string)
    const authorized = await player.get(authorize.pathname + authorize.search)
    const back = new URL(authorized.headers.location as string)
    return (await player.get(back.pathname + back.search, { host })).status
  }
  const isSignedIn = async () => (await player.get('/auth/service/session', { host })).body.signedIn
  t.equal(await signIn(), 302)
  const linked = await program.patch(`/api/oauth/apps/${elder.id}`, { gameId: game.id })
  t.match(linked, { status: 200, body: { gameId: game.id } })
  t.equal(await isSignedIn(), true, 'sessions go on')
  t.equal(await signIn(), 302, 'and new ones begin')

  t.match(await program.post(`/api/games/${game.id}/secret`), { status: 200, body: { clientId: game.clientId } })
  t.ok(apps.hasSecret(await apps.find(elder.clientId), elder.clientSecret), "the other's secret is as it was")
  await program.patch(`/api/games/${game.id}`, { title: 'Ping' })
  t.match(await apps.find(game.clientId), { name: 'Ping' })
  t.match(await apps.find(elder.clientId), { name: 'Elder' })

  await program.delete(`/api/games/${game.id}`)
  platform.clock.advance(31 * 86_400_000)
  await platform.app.games.deletion.purge(new AbortController().signal)
  t.equal(await apps.find(game.clientId), null, 'its own goes with it')
  t.match(await apps.find(elder.clientId), { gameId: null }, 'the other stands alone')
})
