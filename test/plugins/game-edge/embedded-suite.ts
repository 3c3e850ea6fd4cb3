// A game in the frame of its play page has its player's session, in Chromium, Firefox and WebKit: on localhost, on
// https across sites, and in the LAN mode at an address of this machine in its network, through sign-in, sign-out and
// reloads. One file for each engine runs it. (`npm test` opens the play page: test/clients/browser.test.ts.)
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { type Engine, type EngineContext, type EngineName, openEngine } from '../../kit/engines/engine.ts'
import type { EngineFrame, EnginePage } from '../../kit/engines/page.ts'
import { NETWORK_ADDRESSES } from '../../kit/engines/recording.ts'
import { type Platform, type PlayerClient, startPlatform } from '../../kit/platform.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { BEHIND_PROXY, startTlsProxy } from '../../kit/tls-proxy.ts'
import { until } from '../../kit/until.ts'
import { deploy } from './kit.ts'

/** The first request of the game, sent before anything else in the page exists. */
const GAME = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Game</title><script>
  window.first = fetch('/auth/service/session').then((answer) => answer.json())
</script><link rel="stylesheet" href="game.css"></head>
<body><h1>A game</h1><script type="module" src="game.js"></script></body></html>`
const FILES = {
  'index.html': GAME,
  'game.css': 'h1 { color: rgb(1, 2, 3) }',
  'game.js': "document.body.dataset.module = 'ran'",
  'next.html': GAME.replace('A game', 'The next level'),
}

const MODES = ['https', 'localhost', 'lan', 'network'] as const
type Mode = (typeof MODES)[number]
/** The selected modes, to run one at a time: `MODES=https npx tap run …`. */
const chosen = MODES.filter((mode) => process.env.MODES?.split(',').includes(mode) ?? true)

interface World {
  engine: Engine
  platform: Platform
  owner: PlayerClient
  /** Publishes a game. */
  publish(
    fields?: Record<string, unknown>,
    files?: Record<string, string>,
  ): Promise<{ id: string; slug: string; playUrl: string; previewUrl: string }>
  /** The browser of a player. */
  browserOf(player: PlayerClient | null): Promise<EngineContext>
  /** Routes `https://itch.arcade.test` to the port of another server of this machine. */
  elsewhere(port: number): Promise<void>
}

async function world(t: Test, engine: Engine, mode: Mode, config: Record<string, unknown> = {}): Promise<World | null> {
  const lan = (address: string) => ({ lan: { enabled: true, address, name: 'yard', https: false } })
  const [address = ''] = NETWORK_ADDRESSES
  const modes = { localhost: {}, https: BEHIND_PROXY, lan: lan('127.0.0.1'), network: lan(address) }
  if (mode === 'network' && address === '') {
    t.pass('the LAN of this machine', { skip: 'it has no address in a network' })
    return null
  }
  const listen = mode === 'network' ? address : true
  const platform = await startPlatform(t, { listen, config: { ...modes[mode], auth: { guests: true }, ...config } })
  const { port } = platform.app.server.address() as AddressInfo
  const lead = async (others: Record<string, number>) => {
    const proxy = await startTlsProxy(t, { port }, others)
    for (const name of ['portal.test', 'games.test', 'arcade.test']) engine.route(name, proxy?.port ?? 0)
    return proxy
  }
  if (mode === 'https' && !(await lead({}))) return null
  const owner = await platform.signUp({ name: 'Ada' })
  const program = await platform.program(owner)
  return {
    engine,
    platform,
    owner,
    async publish(fields = {}, files = FILES) {
      const game = await platform.game(owner, fields)
      const deployId = await deploy(platform, program, game.id, files)
      await platform.app.gamePorts.listen()
      return { ...game, previewUrl: (await program.get(`/api/deploy/${deployId}`)).body.previewUrl }
    },
    browserOf(player) {
      const url = platform.portal
      const cookies = player ? [...player.cookiesOf()].map(([name, value]) => ({ name, value, url })) : []
      return engine.newContext({ base: url, cookies })
    },
    elsewhere: async (other) => void (await lead({ 'itch.arcade.test': other })),
  }
}

const session = (frame: EngineFrame) =>
  frame.evaluate<{ signedIn: boolean; user?: { name: string } }>(
    "fetch('/auth/service/session').then((answer) => answer.json())",
  )
/** Returns the response to the game's first request. */
const first = (frame: EngineFrame) => frame.waitFor<{ signedIn: boolean; user?: { name: string } }>('window.first')
const enterRoom = `import('/__service/multiplayer.js').then(({ join }) => join('lobby')).then((room) => {
  window.room = room
  room.on('left', (reason) => { window.left = reason })
  return room.me.name
})`
const GUEST = { signedIn: true, user: { name: 'Bo' } }
const ADA = { signedIn: true, user: { name: 'Ada' } }

async function openPlayPage(page: EnginePage, url: string): Promise<EngineFrame> {
  await page.goto(url)
  const frame = page.frame('.play iframe')
  await frame.see('h1')
  return frame
}

async function playsSignedIn(t: Test, { owner, publish, browserOf }: World) {
  const game = await publish()
  const context = await browserOf(owner)
  const page = await context.newPage()
  const frame = await openPlayPage(page, game.playUrl)
  t.match(await first(frame), ADA, 'signed in when it asks first')
  t.equal(await frame.evaluate('location.pathname + location.search + location.hash'), '/', 'at its own address')
  t.equal(await frame.evaluate('history.length'), await page.evaluate('history.length'))
  t.equal(await frame.evaluate(enterRoom), 'Ada', 'in rooms, too')
  const raw = `new Promise((resolve) => {
    const socket = new WebSocket('/mp/rooms/raw')
    socket.onmessage = ({ data }) => resolve(JSON.parse(data).players[0].name)
    socket.onclose = () => resolve('closed')
  })`
  t.equal(await frame.evaluate(raw), 'Ada', 'and for sockets of the game’s own')
  const xhr = `new Promise((resolve) => {
    const request = new XMLHttpRequest()
    request.open('GET', '/auth/service/session')
    request.onload = () => resolve(JSON.parse(request.responseText).signedIn)
    request.send()
  })`
  t.equal(await frame.evaluate(xhr), true, 'as for XMLHttpRequest')
  t.equal(await frame.evaluate("document.querySelector('service-auth')?.hidden"), true, 'the widget stays away')
  await context.close()
}

/** Tests that every kind of early request waits until the player is known. */
async function asksAtOnce(t: Test, { owner, publish, browserOf }: World) {
  const early = `<!doctype html><html lang="en"><head><title>Early</title><script>
    const received = (socket) => new Promise((resolve) => {
      const said = []
      socket.onopen = () => said.push('open', socket.readyState === WebSocket.OPEN)
      socket.onmessage = ({ data }) => {
        if (typeof data !== 'string') return
        said.push(JSON.parse(data).players[0].name)
        socket.onmessage = null
        socket.close()
      }
      socket.addEventListener('close', ({ wasClean }) => resolve([...said, wasClean]))
    })
    const answered = (request) => new Promise((resolve) => {
      for (const kind of ['load', 'abort']) request.addEventListener(kind, () =>
        resolve(kind === 'load' ? JSON.parse(request.responseText).signedIn : kind))
    })
    const xhr = () => {
      const request = new XMLHttpRequest()
      request.open('GET', '/auth/service/session')
      request.send()
      return request
    }
    const socket = new WebSocket('/mp/rooms/early')
    window.kinds = [socket instanceof WebSocket, socket.readyState, socket.url.replace(/^ws/, 'http')]
    window.early = received(socket)
    const given = new WebSocket('/mp/rooms/given-up')
    given.close()
    window.givenUp = received(given)
    window.other = received(new (class extends WebSocket {})(location.origin.replace('http', 'ws') + '/nowhere'))
    window.asked = answered(xhr())
    const broken = xhr()
    window.broken = answered(broken)
    broken.abort()
  </script></head><body><h1>A game</h1></body></html>`
  const game = await publish({ title: 'Early' }, { 'index.html': early })
  const context = await browserOf(owner)
  const frame = await openPlayPage(await context.newPage(), game.playUrl)
  t.same(await frame.waitFor('window.early'), ['open', true, 'Ada', true], 'a socket')
  t.same(await frame.waitFor('window.kinds'), [true, 0, `${await frame.evaluate('location.origin')}/mp/rooms/early`])
  t.same(await frame.waitFor('window.givenUp'), [false], 'one that is closed at once never opens')
  t.same(await frame.waitFor('window.other'), [false], 'others are as ever')
  t.equal(await frame.waitFor('window.asked'), true, 'a request')
  t.equal(await frame.waitFor('window.broken'), 'abort', 'one that is broken off')
  await context.close()
}

async function staysSignedIn(t: Test, { engine, owner, publish, browserOf }: World) {
  const [game, second] = [await publish(), await publish({ title: 'Second', settings: { authWidget: 'off' } })]
  const context = await browserOf(owner)
  const page = await context.newPage()
  const frame = await openPlayPage(page, game.playUrl)
  t.match(await first(frame), ADA)
  await frame.evaluate('void setTimeout(() => location.reload())')
  await frame.waitFor("performance.getEntriesByType('navigation')[0].type === 'reload'")
  t.match(await first(frame), ADA, 'after the game loads itself again')
  await frame.evaluate("void setTimeout(() => location.assign('/next.html'))")
  await frame.waitFor("location.pathname === '/next.html'")
  t.match(await first(frame), ADA, 'on its next page')
  t.match(await first(await openPlayPage(page, game.playUrl)), ADA, 'after a reload of the play page')
  t.match(await first(await openPlayPage(page, second.playUrl)), ADA, 'in a second game, whose widget is off')
  const tab = await context.newPage()
  t.match(await first(await openPlayPage(tab, game.playUrl)), ADA, 'in a second tab')
  await page.evaluate('void setTimeout(() => history.back())')
  await page.waitFor(`location.href === '${game.playUrl}'`)
  // Firefox's protocol does not report frames of a page from the back-forward cache.
  if (engine.name !== 'firefox') t.match(await first(page.frame('.play iframe')), ADA, 'after going back')
  await context.close()
}

async function signsOut(t: Test, { platform, publish, browserOf }: World) {
  const game = await publish()
  const player = await platform.signUp({ name: 'Ada' })
  const context = await browserOf(player)
  const page = await context.newPage()
  let frame = await openPlayPage(page, game.playUrl)
  t.match(await first(frame), ADA)
  await frame.evaluate(
    "fetch('/auth/service/logout', { method: 'POST' }).then(() => void setTimeout(() => location.reload()))",
  )
  await frame.waitFor("performance.getEntriesByType('navigation')[0]?.type === 'reload'")
  t.match(await first(frame), { signedIn: false }, 'signed out of the game, it stays so')
  await frame.click({ link: 'Sign in' })
  await frame.waitFor('window.first.then(({ signedIn }) => signedIn)')
  t.match(await session(frame), ADA, 'until one presses: without leaving the page')
  t.equal(await page.url(), game.playUrl)

  await frame.evaluate("void setTimeout(() => location.assign('/auth/service/logout?returnTo=/next.html'))")
  await frame.waitFor("location.pathname === '/next.html' && !!window.first")
  t.match(await first(frame), { signedIn: false }, 'by a link, too')
  frame = await openPlayPage(page, game.playUrl)
  t.match(await first(frame), ADA, 'whoever opens the page anew plays as who they are')

  t.equal(await frame.evaluate(enterRoom), 'Ada')
  await page.evaluate("fetch('/api/auth/sign-out', { method: 'POST' }).then(({ status }) => status)")
  await frame.waitFor('window.left')
  t.match(await session(frame), { signedIn: false }, 'signed out of the portal, the game is at once, and its rooms')
  frame = await openPlayPage(page, game.playUrl)
  t.match(await first(frame), { signedIn: false }, 'and when the page is opened again')
  await context.close()
}

async function isShutOut(t: Test, { platform, publish, browserOf }: World) {
  const game = await publish()
  const player = await platform.signUp({ name: 'Ada' })
  const context = await browserOf(player)
  const page = await context.newPage()
  const frame = await openPlayPage(page, game.playUrl)
  t.match(await first(frame), ADA)
  await platform.app.identity.administration.setDisabled(player.id, true)
  t.match(await session(frame), { signedIn: false }, 'a disabled player')
  t.match(await first(await openPlayPage(page, game.playUrl)), { signedIn: false })
  await context.close()
}

async function playsPrivate(t: Test, { owner, platform, publish, browserOf }: World) {
  const worker = "addEventListener('fetch', (event) => event.respondWith(fetch(event.request)))"
  const game = await publish({ title: 'Secret', visibility: 'private' }, { ...FILES, 'sw.js': worker })
  const context = await browserOf(owner)
  const page = await context.newPage()
  await page.goto(game.playUrl)
  const frame = page.frame('.play iframe')
  await frame.see({ text: 'A game' })
  t.match(await first(frame), ADA)
  await frame.waitFor("document.body.dataset.module === 'ran'")
  t.equal(
    await frame.evaluate("getComputedStyle(document.querySelector('h1')).color"),
    'rgb(1, 2, 3)',
    'with its files',
  )
  t.equal(await frame.evaluate(enterRoom), 'Ada')
  await frame.evaluate('void setTimeout(() => location.reload())')
  await frame.waitFor(
    "performance.getEntriesByType('navigation')[0].type === 'reload' && document.body.dataset.module === 'ran'",
  )
  t.pass('also when it loads itself again')
  // If the browser allows service workers in frames, a game's own worker would make it lose its files.
  await frame.evaluate("navigator.serviceWorker?.register('/sw.js').catch(() => {}).then(() => {})")
  const before = await frame.evaluate<number>('performance.timeOrigin')
  await frame.evaluate('void setTimeout(() => location.reload())')
  await frame.waitFor(`performance.timeOrigin > ${before} && document.body.dataset.module === 'ran'`)
  t.match(await first(frame), ADA, 'nor does a service worker of the game shut the player out')
  const host = platform.gameHost(game.slug)
  t.equal((await platform.stranger.get('/game.js', { host })).status, 404, 'and to nobody else')
  await context.close()
}

async function playsIsolated(t: Test, { owner, publish, browserOf }: World) {
  const game = await publish({ title: 'Threads', settings: { crossOriginIsolated: true } })
  const context = await browserOf(owner)
  const frame = await openPlayPage(await context.newPage(), game.playUrl)
  t.match(await first(frame), ADA)
  t.equal(await frame.evaluate('crossOriginIsolated'), true)
  await frame.evaluate("void setTimeout(() => location.assign('/auth/service/logout?returnTo=/next.html'))")
  await frame.waitFor("location.pathname === '/next.html' && !!window.first")
  t.match(await first(frame), { signedIn: false })
  await context.close()
}

/** Tests a game with a service worker for offline play, which handles all requests of the browser. */
async function playsThroughWorker(t: Test, { owner, publish, browserOf }: World) {
  const worker = `addEventListener('install', (event) => event.waitUntil(skipWaiting()))
    addEventListener('activate', (event) => event.waitUntil(clients.claim()))
    addEventListener('fetch', (event) => event.respondWith(fetch(event.request)))`
  const register = "navigator.serviceWorker.register('/sw.js').then(() => navigator.serviceWorker.ready)"
  const game = await publish(
    { title: 'Offline' },
    { ...FILES, 'sw.js': worker, 'game.js': `await ${register}; document.body.dataset.module = 'ran'` },
  )
  const context = await browserOf(owner)
  const page = await context.newPage()
  const frame = await openPlayPage(page, game.playUrl)
  // A browser that blocks storage in frames has no workers there either, like Chromium in these tests.
  const has = await frame.evaluate(`(async () => { try { return !!(await ${register}) } catch { return false } })()`)
  t.comment(has ? 'the worker stands between' : 'this browser has no workers in frames')
  for (const time of ['first', 'again']) t.match(await first(await openPlayPage(page, game.playUrl)), ADA, time)
  t.equal(await frame.evaluate(enterRoom), 'Ada')
  await context.close()
}

async function visits(t: Test, { publish, browserOf, platform }: World) {
  const game = await publish()
  const context = await browserOf(null)
  const page = await context.newPage()
  const frame = await openPlayPage(page, game.playUrl)
  t.match(await first(frame), { signedIn: false })
  await frame.click({ link: 'Sign in' })
  await page.waitFor(`location.href.startsWith('${platform.portal}/sign-in')`)
  await context.close()
}

/** Tests that a visitor without an account plays with only a name. */
async function playsAsGuest(t: Test, { publish, browserOf, platform }: World) {
  const game = await publish()
  const context = await browserOf(null)
  const page = await context.newPage()
  await (await openPlayPage(page, game.playUrl)).click({ link: 'Sign in' })
  await page.waitFor(`location.href.startsWith('${platform.portal}/sign-in')`)
  await page.fill('#guest-name', 'Bo')
  await page.click({ button: 'Play as a guest' })
  await page.waitForUrl(String(game.playUrl))
  const frame = await openPlayPage(page, game.playUrl)
  t.match(await first(frame), GUEST, 'in the frame of the page to which the sign-in leads back')
  t.equal(await frame.evaluate(enterRoom), 'Bo', 'in rooms, too')
  await page.evaluate("fetch('/api/auth/sign-out', { method: 'POST' }).then(({ status }) => status)")
  await frame.waitFor('window.left')
  t.match(await session(frame), { signedIn: false }, 'until they leave')
  await context.close()
}

/** Tests that on another site a game and a preview play signed out, and one click signs in through a window. */
async function playsElsewhere(t: Test, world: World) {
  const { previewUrl, slug } = await world.publish()
  const frame = await playsFramedBy(t, world, world.platform.app.origins.game(slug))
  t.equal(await frame.waitFor(enterRoom), 'Ada', 'in rooms, too')
  await t.test('a preview', (t) => playsFramedBy(t, world, previewUrl))
}

async function playsFramedBy(
  t: Test,
  { owner, elsewhere, browserOf, engine }: World,
  url: string,
): Promise<EngineFrame> {
  const site = createServer((_request, response) => {
    response
      .setHeader('content-type', 'text/html')
      .end(`<!doctype html><title>Itch</title><iframe src="${url}/"></iframe>`)
  })
  await new Promise<void>((done) => site.listen(0, '127.0.0.1', done))
  t.teardown(() => site.close())
  await elsewhere((site.address() as AddressInfo).port)
  const context = await browserOf(owner)
  const page = await context.newPage()
  await page.goto('https://itch.arcade.test/')
  const frame = page.frame()
  await frame.see('h1')
  t.match(await first(frame), { signedIn: false }, `nobody, in ${engine.name}`)
  await frame.click({ link: 'Sign in' })
  // Where the browser keeps the token, the game reloads at some point, which may lose the first request.
  const known = "fetch('/auth/service/session').then((answer) => answer.json()).then((it) => it.signedIn && it)"
  t.match(await frame.waitFor(known), ADA, 'signed in, on the same page')
  t.equal(await page.url(), 'https://itch.arcade.test/')
  t.ok(await until(async () => (await context.pages()).length === 1), 'the window has closed itself')
  return frame
}

/** Runs all tests in one engine. */
export function testEmbeddedGames(name: EngineName): void {
  t.setTimeout(timeLimit(900))
  t.test(`${name}: a framed game knows who plays`, { timeout: timeLimit(800) }, async (t) => {
    const engine = await openEngine(t, name)
    if (!engine) return
    for (const mode of chosen) {
      await t.test(`${name}, ${mode}`, async (t) => {
        const one = await world(t, engine, mode)
        if (!one) return
        await t.test('signed in on the play page', (t) => playsSignedIn(t, one))
        await t.test('as what asks at once', (t) => asksAtOnce(t, one))
        await t.test('and stays so', (t) => staysSignedIn(t, one))
        await t.test('until one signs out', (t) => signsOut(t, one))
        await t.test('or is shut out', (t) => isShutOut(t, one))
        await t.test('a private game', (t) => playsPrivate(t, one))
        // Browsers isolate only pages of a secure context.
        if (mode !== 'network') await t.test('an isolated game', (t) => playsIsolated(t, one))
        await t.test('a game with a service worker', (t) => playsThroughWorker(t, one))
        await t.test('a visitor', (t) => visits(t, one))
        await t.test('a guest', (t) => playsAsGuest(t, one))
        if (mode === 'https') await t.test('on another site', (t) => playsElsewhere(t, one))
      })
    }
  })
  if (name === 'firefox') testStrictSettings()
}

/** Firefox preferences under which it stores nothing for third parties, or scripts have no storage at all. */
const STRICT = [
  { what: 'cookies of third parties', mode: 'https', preferences: { 'network.cookie.cookieBehavior': 1 } },
  { what: 'storage', mode: 'localhost', preferences: { 'dom.storage.enabled': false } },
] as const

function testStrictSettings(): void {
  for (const { what, mode, preferences } of STRICT) {
    t.test(`firefox without ${what}`, { timeout: timeLimit(300) }, async (t) => {
      const engine = await openEngine(t, 'firefox', { firefoxPreferences: preferences })
      const one = engine && (await world(t, engine, mode))
      if (!one) return
      const game = await one.publish()
      const context = await one.browserOf(one.owner)
      const page = await context.newPage()
      const frame = await openPlayPage(page, game.playUrl)
      t.match(await first(frame), ADA, 'signed in all the same')
      if (what === 'storage')
        t.equal(await frame.evaluate('sessionStorage instanceof Storage'), false, 'without storage')
      t.equal(await frame.evaluate(enterRoom), 'Ada')
      await frame.evaluate("void setTimeout(() => location.assign('/next.html'))")
      await frame.waitFor("location.pathname === '/next.html'")
      t.match(await first(frame), ADA, 'on the next page, too')
      await context.close()
      if (mode === 'https') await t.test('on another site', (t) => playsElsewhere(t, one))
    })
  }
}
