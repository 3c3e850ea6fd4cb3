// Cookies ignore ports, so servers at one host name share them. Nobody's session ends because of another server.
import t, { type Test } from 'tap'
import { createAuth } from '../../clients/adapter/index.ts'
import { decide } from '../kit/oauth.ts'
import { Client, type PlayerClient, startPlatform } from '../kit/platform.ts'

const HOUR = 3600_000

const second = { portal: { url: 'http://localhost:9090' }, games: { domain: 'localhost:9090' } }

async function twoPlatforms(t: Test) {
  const first = await startPlatform(t)
  const other = await startPlatform(t, { config: second })
  return { first, other }
}

const isSignedIn = async (player: Client) => (await player.get('/api/auth/session')).body.signedIn
const pathOf = (url = '') => url.slice(new URL(url).origin.length)

async function signIn(player: Client, host: string) {
  const started = await player.get('/auth/service/start', { host })
  const authorized = await player.get(pathOf(started.headers.location))
  return player.get(pathOf(authorized.headers.location), { host })
}

const session = async (player: Client, host: string) => (await player.get('/auth/service/session', { host })).body

/** Gives the cookies of a host the names that earlier versions set. */
function asBefore(player: Client, host: string, renamed: Record<string, string>) {
  const jar = player.cookiesOf(host)
  for (const [name, former] of Object.entries(renamed)) {
    jar.set(former, jar.get(name) as string)
    jar.delete(name)
  }
  return jar
}

t.test('portals at one host name, beside an app with the same habits', async (t) => {
  const { first, other } = await twoPlatforms(t)
  const here = await first.signUp()
  const jar = here.cookiesOf()
  const foreign = { session: 'of-an-app', theme: 'blue', 'upstream-aaaaaaaaaaaaaaaa': 'x' }
  for (const [name, value] of Object.entries(foreign)) jar.set(name, value)
  const there = await other.signUp({}, here)
  t.same([await isSignedIn(here), await isSignedIn(there)], [true, true])
  await here.post('/api/auth/sign-out')
  t.same([await isSignedIn(here), await isSignedIn(there)], [false, true])
  t.match(Object.fromEntries(jar), foreign, 'no cookie of the app is gone')
  t.match((await here.get('/sign-in')).text, 'data-theme-switch="gameyard_theme_8080"')
  await there.post('/api/auth/sign-out')
  t.match((await there.get('/sign-in')).text, 'data-theme-switch="gameyard_theme_9090"')
})

t.test('a session under the former name stays valid, and gets the new name', async (t) => {
  const platform = await startPlatform(t)
  const player = await platform.signUp()
  const jar = asBefore(player, 'localhost', { gameyard_session_8080: 'session' })
  t.ok(await isSignedIn(player))
  jar.set('theme', 'dark')
  t.match((await player.get('/settings')).text, 'data-theme="dark"')
  platform.clock.advance(2 * HOUR)
  t.ok(await isSignedIn(player))
  t.equal(jar.get('gameyard_session_8080'), jar.get('session'), 'renewed')
  jar.set('session', 'of-an-app')
  t.ok(await isSignedIn(player), 'whatever an app sets then')
  jar.delete('gameyard_session_8080')
  t.notOk(await isSignedIn(player))

  const leaving = await platform.signUp()
  const kept = asBefore(leaving, 'localhost', { gameyard_session_8080: 'session' })
  await leaving.post('/api/auth/sign-out')
  t.notOk(await isSignedIn(leaving), 'signed out, although the cookie stays')
  t.ok(kept.has('session'))
})

t.test('games at one host name', async (t) => {
  const { first, other } = await twoPlatforms(t)
  const here = await first.signUp()
  const there = await other.signUp({}, here)
  for (const [platform, player] of [
    [first, here],
    [other, there],
  ] as const) {
    const { slug } = await platform.game(player)
    await signIn(player, platform.gameHost(slug))
  }
  const [host, elsewhere] = ['pong.localhost:8080', 'pong.localhost:9090']
  const state = await both(here, there)
  t.same(state, [true, true])
  for (let count = 0; count < 9; count++) await here.get('/auth/service/start', { host })
  const open = [...here.cookiesOf(host).keys()].filter((name) => name.startsWith('gameyard_state_8080_'))
  t.equal(open.length, 8)
  await there.get('/auth/service/start', { host: elsewhere })
  t.ok(
    open.every((name) => here.cookiesOf(host).has(name)),
    'an unfinished sign-in of one port ends none of another',
  )
  await here.post('/auth/service/logout', undefined, { host })
  t.same(await both(here, there), [false, true])

  await signIn(here, host)
  const jar = asBefore(here, host, { gameyard_game_8080: 'service_session' })
  t.same(await both(here, there), [true, true], 'under the former name')
  await here.post('/auth/service/logout', undefined, { host })
  t.same(await both(here, there), [false, true])
  t.notOk(jar.has('service_session'))
  jar.set('service_session', 'of-a-game-with-a-server')
  await signIn(here, host)
  await here.post('/auth/service/logout', undefined, { host })
  t.equal(jar.get('service_session'), 'of-a-game-with-a-server')

  async function both(here: PlayerClient, there: PlayerClient) {
    return [(await session(here, host)).signedIn, (await session(there, elsewhere)).signedIn]
  }
})

t.test('games with servers of their own, on two ports of this machine', async (t) => {
  const platform = await startPlatform(t, { listen: true })
  const owner = await platform.signUp()
  const browser = new Client(platform.app)
  const jar = browser.cookiesOf('localhost')
  const open = async (port: number) => {
    const { oauth } = await platform.game(owner, { title: `Port ${port}`, url: `http://localhost:${port}` })
    const { clientId, clientSecret, redirectUri } = oauth
    const auth = createAuth({
      clientId,
      clientSecret,
      redirectUri,
      sessionSecret: 's'.repeat(32),
      baseUrl: platform.portal,
    })
    const ask = async (path: string) => {
      const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
      const request = new Request(new URL(path, redirectUri), { headers: { cookie } })
      const response = (await auth.handle(request)) as Response
      for (const line of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
        if (/Max-Age=0\b/.test(line)) jar.delete(name)
        else jar.set(name, value)
      }
      return response
    }
    return {
      ask,
      name: `service_session_${clientId.slice('svc_client_'.length).slice(0, 8)}`,
      session: async () => (await (await ask('/auth/service/session')).json()).signedIn,
      async signIn() {
        const { headers } = await ask('/auth/service/start')
        const request = pathOf(headers.get('location') as string)
        const consent = await owner.get(request)
        const answer = consent.headers.location ? consent : await decide(owner, request, 'allow')
        await ask(pathOf(answer.headers.location))
      },
    }
  }
  const [one, two] = [await open(3000), await open(3001)]
  await one.signIn()
  await two.signIn()
  const both = async () => [await one.session(), await two.session()]
  t.same(await both(), [true, true])
  for (let count = 0; count < 9; count++) await one.ask('/auth/service/start')
  const flows = [...jar.keys()].filter((name) => name.startsWith('service_state_'))
  t.equal(flows.length, 8)
  await two.ask('/auth/service/start')
  t.ok(
    flows.every((name) => jar.has(name)),
    'an unfinished sign-in of one game ends none of the other',
  )
  await one.ask('/auth/service/logout')
  t.same(await both(), [false, true])

  asBefore(browser, 'localhost', { [two.name]: 'service_session' })
  t.same(await both(), [false, true], 'under the former name')
  await one.ask('/auth/service/logout')
  t.same(await both(), [false, true], 'which another game leaves alone')
  await two.ask('/auth/service/logout')
  t.same(await both(), [false, false])
})
