import t, { type Test } from 'tap'
import { gamePath } from '../../../plugins/game-edge/sign-in/game-path.ts'
import { Client, PASSWORD, type PlatformOptions, startPlatform } from '../../kit/platform.ts'
import { HOSTILE_PATHS, SAFE_PATHS } from '../../kit/return-paths.ts'
import { deploy } from './kit.ts'

async function withGame(t: Test, options: PlatformOptions = {}) {
  const platform = await startPlatform(t, options)
  const owner = await platform.signUp()
  const game = await platform.game(owner)
  const player = await platform.signUp({ name: 'Ada' })
  return { platform, owner, game, player, host: platform.gameHost(game.slug) }
}

const MINUTE = 60_000

const pathOf = (url: string | undefined) => {
  const { pathname, search } = new URL(url as string)
  return pathname + search
}

/** Follows the sign-in through the portal and back, up to the callback's response. */
async function signIn(
  client: Client,
  host: string,
  start = '/auth/service/start',
  headers: Record<string, string> = {},
) {
  const started = await client.get(start, { host, headers })
  const authorized = await client.get(pathOf(started.headers.location))
  return client.get(pathOf(authorized.headers.location), { host, headers })
}

const cookiesIn = (headers: Record<string, unknown>) => [headers['set-cookie'] ?? []].flat() as string[]

t.test('a player signs in to a game and out again', async (t) => {
  const { platform, game, player, host } = await withGame(t)
  t.match(await player.get('/auth/service/session', { host }), {
    status: 200,
    body: { signedIn: false },
    headers: { 'cache-control': 'no-store' },
  })
  const started = await player.get('/auth/service/start?returnTo=/level?n=3', { host })
  const authorize = new URL(started.headers.location as string)
  t.equal(started.status, 302)
  t.equal(authorize.origin + authorize.pathname, `${platform.portal}/oauth/authorize`)
  t.match(Object.fromEntries(authorize.searchParams), {
    response_type: 'code',
    client_id: game.clientId,
    redirect_uri: `http://${host}/auth/service/callback`,
    code_challenge_method: 'S256',
    code_challenge: /^[\w-]{43}$/,
    state: /^[\w-]{22}$/,
  })
  const authorized = await player.get(pathOf(authorize.href))
  const back = await player.get(pathOf(authorized.headers.location), { host })
  t.match(back, {
    status: 302,
    headers: { location: /^\/level\?n=3$/, 'cross-origin-resource-policy': 'cross-origin' },
  })

  const session = await player.get('/auth/service/session', { host })
  t.strictSame(Object.keys(session.body).sort(), ['expiresAt', 'scope', 'signedIn', 'user'])
  t.match(session.body, { signedIn: true, user: { id: player.id, name: 'Ada', imageUrl: /^http/ }, scope: 'profile' })
  t.equal(new Date(session.body.expiresAt).getTime() - platform.clock.now().getTime(), 7 * 24 * 3600_000)
  await player.submit('/settings/name', { name: 'Countess' })
  const renamed = (await player.get('/auth/service/session', { host })).body
  t.match(renamed, { signedIn: true, user: { id: player.id, name: 'Countess' } }, 'a new name is known at once')

  t.match(await player.post('/auth/service/logout', undefined, { host }), { status: 200, body: { signedIn: false } })
  t.strictSame((await player.get('/auth/service/session', { host })).body, { signedIn: false })
  await signIn(player, host)
  const link = await player.get('/auth/service/logout?returnTo=/bye', { host, headers: { accept: 'text/html' } })
  t.match(link, { status: 303, headers: { location: /^\/bye$/ } })
  t.strictSame((await player.get('/auth/service/session', { host })).body, { signedIn: false })
})

t.test('a build of a game that lives elsewhere signs players in at its own address here', async (t) => {
  const platform = await startPlatform(t)
  const owner = await platform.signUp()
  const url = 'https://pong.example/play/'
  const game = await platform.game(owner, { url })
  const program = await platform.program(owner)
  const host = platform.gameHost(game.slug)
  const served = `http://${host}/auth/service/callback`
  const own = ['https://pong.example/auth/service/callback', 'https://pong.example/play/auth/service/callback']
  const app = async () =>
    (await program.get('/api/oauth/apps')).body.apps.find((one: { clientId: string }) => one.clientId === game.clientId)
  t.match(await app(), { homepageUrl: url, redirectUris: own })
  t.equal((await app()).redirectUris.length, 2, 'nothing is served here yet')

  await deploy(platform, program, game.id, { 'index.html': '<h1>Pong</h1>' })
  t.strictSame((await app()).redirectUris, [...own, served])
  t.equal((await app()).homepageUrl, url)
  const player = await platform.signUp({ name: 'Ada' })
  t.match(await signIn(player, host, '/auth/service/start?returnTo=/level'), {
    status: 302,
    headers: { location: '/level' },
  })
  t.match((await player.get('/auth/service/session', { host })).body, { signedIn: true, user: { name: 'Ada' } })

  const authorize = async (redirectUri: string, clientId = game.clientId) => {
    const query = {
      response_type: 'code',
      client_id: clientId,
      redirect_uri: redirectUri,
      scope: 'profile',
      state: 'x',
    }
    return player.get(`/oauth/authorize?${new URLSearchParams(query)}`)
  }
  t.match(await authorize(own[1] as string), { status: 200, text: /Allow/ }, 'its own server has to ask')
  const other = await platform.game(owner, { title: 'Other' })
  const stranger = await authorize(`http://${platform.gameHost(other.slug)}/auth/service/callback`)
  t.equal(stranger.status, 400, 'no address of another game')

  const { id } = await app()
  const changed = await program.patch(`/api/oauth/apps/${id}`, { redirectUris: [served, own[1] as string] })
  t.match(changed, { status: 200, body: { redirectUris: [own[1], served] } }, 'the one served here is not stored')
  t.match(await program.patch(`/api/oauth/apps/${id}`, { homepageUrl: 'https://pong.example/' }), { status: 200 })
  await program.patch(`/api/games/${game.id}`, { url: null })
  t.match(await app(), { homepageUrl: `http://${host}` })
  t.equal((await app()).redirectUris.filter((uri: string) => uri === served).length, 1)
})

t.test('cookies have the form that the browser keeps', async (t) => {
  const { player, host } = await withGame(t)
  const plain = cookiesIn((await signIn(player, host)).headers).find((cookie) =>
    /^gameyard_game_8080=[^;]/.test(cookie),
  )
  t.match(plain, /; Path=\/; Max-Age=604800; HttpOnly; SameSite=Lax$/)
  const framed = await signIn(player, host, '/auth/service/start?embed=1', { 'sec-fetch-dest': 'iframe' })
  const partitioned = cookiesIn(framed.headers).find((cookie) => /^gameyard_game_8080=[^;]/.test(cookie))
  t.match(partitioned, /; HttpOnly; SameSite=None; Secure; Partitioned$/)
})

t.test('on https the session cookie is host-bound and partitioned', async (t) => {
  const config = {
    portal: { url: 'https://play.example.org' },
    studio: { url: 'https://play.example.org' },
    games: { domain: 'games-example.net' },
  }
  const { player, host } = await withGame(t, { config })
  const cookies = cookiesIn((await signIn(player, host)).headers)
  t.match(
    cookies.find((cookie) => /^__Host-service_session=[^;]/.test(cookie)),
    /; Path=\/; Max-Age=604800; HttpOnly; SameSite=None; Secure; Partitioned$/,
  )
  t.ok(cookies.every((cookie) => cookie.startsWith('__Host-')))
  t.equal((await player.get('/auth/service/session', { host })).body.signedIn, true)
})

t.test('a callback that this browser did not ask for is refused', async (t) => {
  const { platform, player, host } = await withGame(t)
  const started = await player.get('/auth/service/start', { host })
  const authorized = await player.get(pathOf(started.headers.location))
  const callback = pathOf(authorized.headers.location)
  const state = new URL(authorized.headers.location as string).searchParams.get('state')

  const refused = { status: 400, body: { error: { code: 'sign_in_failed' } }, headers: { 'content-type': /json/ } }
  t.match(await platform.stranger.get(callback, { host }), refused, 'another browser')
  t.match(await player.get('/auth/service/callback', { host }), refused, 'nothing')
  t.match(await player.get('/auth/service/callback?code=abc', { host }), refused, 'no state')
  t.match(await player.get('/auth/service/callback?code=abc&state=abc', { host }), refused, 'a made-up state')
  t.match(await player.get(`/auth/service/callback?state=${state}`, { host }), refused, 'no code')
  t.match(await player.get(`/auth/service/callback?code=abc&state=${state}`, { host }), refused, 'a made-up code')
  t.match(await player.get(`${callback}&iss=https://evil.example`, { host }), { status: 400 }, 'another issuer')
  t.match(await player.get(`/auth/service/callback?error=server_error&state=${state}`, { host }), refused)
  t.equal((await player.get(callback, { host })).status, 302, 'the true one still works')
  await player.post('/auth/service/logout', undefined, { host })
  t.match(await player.get(callback, { host }), refused, 'once')
})

t.test('a sign-in that takes longer than ten minutes begins anew', async (t) => {
  const { platform, player, host } = await withGame(t)
  const started = await player.get('/auth/service/start', { host })
  platform.clock.advance(11 * MINUTE)
  const authorized = await player.get(pathOf(started.headers.location))
  t.equal((await player.get(pathOf(authorized.headers.location), { host })).status, 400)
})

t.test('two tabs sign in at once', async (t) => {
  const { player, host } = await withGame(t)
  const first = await player.get('/auth/service/start?returnTo=/one', { host })
  const second = await player.get('/auth/service/start?returnTo=/two', { host })
  for (const [started, path] of [[first, '/one'] as const, [second, '/two'] as const]) {
    const authorized = await player.get(pathOf(started.headers.location))
    const back = await player.get(pathOf(authorized.headers.location), { host })
    t.match(back, { status: 302, headers: { location: path } })
  }
})

t.test('a reloaded callback leads on, and what is fetched in advance has no effect', async (t) => {
  const { player, host } = await withGame(t)
  const started = await player.get('/auth/service/start', { host })
  const authorized = await player.get(pathOf(started.headers.location))
  const callback = pathOf(authorized.headers.location)
  await player.get(callback, { host })
  t.match(await player.get(callback, { host }), { status: 302, headers: { location: /^\/$/ } })
  for (const headers of [{ 'sec-purpose': 'prefetch' }, { purpose: 'prefetch' }])
    for (const path of ['/auth/service/logout', '/auth/service/start', callback])
      t.match(await player.get(path, { host, headers }), { status: 403, headers: { 'set-cookie': undefined } }, path)
  t.equal((await player.get('/oauth/logout', { headers: { 'sec-purpose': 'prefetch' } })).status, 403)
  t.match((await player.get('/auth/service/session', { host })).body, { signedIn: true })
  await player.post('/auth/service/logout', undefined, { host })
  const over = await player.get(callback, { host, headers: { accept: 'text/html' } })
  t.match(over, { status: 400, text: /is finished, took longer than ten minutes.*Sign in/s })
})

t.test('flows that nobody ends do not fill the cookie header', async (t) => {
  const { player, host } = await withGame(t)
  const started = []
  for (let flow = 0; flow < 30; flow++)
    started.push(await player.get(`/auth/service/start?returnTo=/${flow}`, { host }))
  const states = [...player.cookiesOf(host).keys()].filter((name) => name.startsWith('gameyard_state_8080_'))
  t.equal(states.length, 8)
  const authorized = await player.get(pathOf(started[22]?.headers.location))
  const back = await player.get(pathOf(authorized.headers.location), { host })
  t.match(back, { status: 302, headers: { location: /^\/22$/ } }, 'the last eight go on')
})

t.test('embedded, a player who is not signed in at the portal gets back to the game', async (t) => {
  const { platform, host } = await withGame(t)
  const back = await signIn(platform.stranger, host, '/auth/service/start?embed=1&returnTo=/play')
  t.match(back, { status: 302, headers: { location: /^\/play$/ } })
  t.strictSame((await platform.stranger.get('/auth/service/session', { host })).body, { signedIn: false })
})

t.test('the way back leads to the game only', async (t) => {
  const origin = 'http://pong.localhost:8080'
  for (const [wanted, path] of SAFE_PATHS) t.equal(gamePath(wanted, origin), path)
  for (const path of [...HOSTILE_PATHS, '/auth/service/start', '/a/../auth/service/logout'])
    t.equal(gamePath(path, origin), '/', JSON.stringify(path))
  t.equal(gamePath(undefined, origin), '/')
  t.equal(gamePath(`/${'a'.repeat(3000)}`, origin), '/')
})

t.test('a session is worth nothing on another game, doubled, or edited', async (t) => {
  const { platform, owner, player, host } = await withGame(t)
  await signIn(player, host)
  const token = player.cookiesOf(host).get('gameyard_game_8080') as string
  const session = async (cookie: string, at = host) =>
    (await platform.stranger.get('/auth/service/session', { host: at, headers: { cookie } })).body
  t.match(await session(`gameyard_game_8080=${token}`), { signedIn: true })
  t.match(await session(`other=1; gameyard_game_8080=${token}`), { signedIn: true })

  const other = await platform.game(owner, { title: 'Other' })
  const out = { signedIn: false }
  t.strictSame(await session(`gameyard_game_8080=${token}`, platform.gameHost(other.slug)), out)
  t.strictSame(await session(`gameyard_game_8080=${token}; gameyard_game_8080=${token}`), out)
  t.strictSame(await session(`gameyard_game_8080=x; gameyard_game_8080=${token}`), out)
  const edited = token.slice(0, -3) + (token.at(-3) === 'A' ? 'B' : 'A') + token.slice(-2)
  t.strictSame(await session(`gameyard_game_8080=${edited}`), out)
  t.strictSame(await session('gameyard_game_8080=a.b.c.d.e'), out)
  t.strictSame(await session(`__Host-service_session=${token}`), out)
})

t.test('a session ends after seven days', async (t) => {
  const { platform, player, host } = await withGame(t)
  await signIn(player, host)
  platform.clock.advance(7 * 24 * 60 * MINUTE - MINUTE)
  t.equal((await player.get('/auth/service/session', { host })).body.signedIn, true)
  platform.clock.advance(2 * MINUTE)
  t.strictSame((await player.get('/auth/service/session', { host })).body, { signedIn: false })
})

t.test('a session ends with a new password, and with the game’s application', async (t) => {
  const { platform, owner, game, player, host } = await withGame(t)
  await signIn(player, host)
  await platform.app.identity.passwords.reset(player.account.email, 'another yard battery fence')
  t.strictSame((await player.get('/auth/service/session', { host })).body, { signedIn: false })

  const other = await platform.signUp()
  await signIn(other, host)
  t.equal((await other.get('/auth/service/session', { host })).body.signedIn, true)
  const app = await platform.app.identity.apps.find(game.clientId)
  await platform.app.identity.apps.delete(owner.id, app?.id as string)
  t.strictSame((await other.get('/auth/service/session', { host })).body, { signedIn: false })
})

t.test('a session ends with that of the portal in its browser, and outlasts another sign-in there', async (t) => {
  const { platform, player, host } = await withGame(t)
  const { identity, db } = platform.app
  const isSignedIn = async (client: Client) => (await client.get('/auth/service/session', { host })).body.signedIn
  const signInToPortal = (client: Client, { email } = player.account) =>
    client.post('/api/auth/sign-in', { email, password: PASSWORD })
  const phone = new Client(platform.app)
  await signInToPortal(phone)
  for (const client of [player, phone]) await signIn(client, host)
  t.match(await signInToPortal(player), { status: 200 })
  t.equal((await identity.sessions.list(player.id)).length, 2)
  t.equal(await isSignedIn(player), true, 'after another sign-in as the same player')

  await player.post('/api/auth/sign-out')
  t.equal(await isSignedIn(player), false)
  t.equal(await isSignedIn(phone), true, 'in another browser')
  const [ofPhone] = await identity.sessions.list(player.id)
  await identity.sessions.revoke(player.id, ofPhone?.id as string)
  t.equal(await isSignedIn(phone), false, 'whose player has signed it out from elsewhere')

  await signInToPortal(player)
  await signIn(player, host)
  const other = await platform.signUp()
  await signInToPortal(player, other.account)
  t.equal(await isSignedIn(player), false, 'somebody else has signed in to the portal')

  const started = await player.get('/auth/service/start', { host })
  const authorized = await player.get(pathOf(started.headers.location))
  await db.execute('update authorization_codes set session_id = null')
  await player.get(pathOf(authorized.headers.location), { host })
  await player.post('/api/auth/sign-out')
  t.equal(await isSignedIn(player), true, 'a code of the previous version names no session')
})

t.test('a browser that sends a body of an unknown type gets a page with the status of the refusal', async (t) => {
  const { player, host } = await withGame(t)
  const refused = await player.request('POST', '/auth/service/logout', Buffer.from('x'), {
    host,
    headers: { accept: 'text/html', 'content-type': 'application/unknown' },
  })
  t.match(refused, { status: 415, headers: { 'content-type': /^text\/html/ } })
})

t.test('a host without a game has no sign-in', async (t) => {
  const { platform } = await withGame(t)
  const host = platform.gameHost('nobody')
  for (const path of ['start', 'callback', 'session', 'logout']) {
    t.match(await platform.stranger.get(`/auth/service/${path}`, { host }), { status: 404, body: { error: {} } })
  }
})

t.test('new keys let sign-ins go on, or end them at once when they were stolen', async (t) => {
  const { platform, player, host } = await withGame(t)
  const signedIn = async () => (await player.get('/auth/service/session', { host })).body.signedIn
  await signIn(player, host)
  const started = await player.get('/auth/service/start', { host })
  await platform.app.keyRings.rotate('sessions', { immediate: false })
  t.equal(await signedIn(), true)
  const authorized = await player.get(pathOf(started.headers.location))
  t.equal(
    (await player.get(pathOf(authorized.headers.location), { host })).status,
    302,
    'one under way comes to its end',
  )
  platform.clock.advance(7 * 24 * 60 * MINUTE - 1)
  t.equal(await signedIn(), true, 'its seven days are its own')

  const latest = await player.get('/auth/service/start', { host })
  await platform.app.keyRings.rotate('sessions', { immediate: true })
  t.equal(await signedIn(), false)
  const late = await player.get(pathOf(latest.headers.location))
  t.equal((await player.get(pathOf(late.headers.location), { host })).status, 400)
  await signIn(player, host)
  t.equal(await signedIn(), true, 'the session of the portal rests on no key')
})
