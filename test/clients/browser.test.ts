import { readdir, readFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { BrowserContext, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { expectNoAxeViolations, openBrowser, openPage, screenshot } from '../kit/browser.ts'
import { keepPace } from '../kit/driver-context.ts'
import { ALL, inFull } from '../kit/extent.ts'
import { type PlayerClient, startPlatform } from '../kit/platform.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { BEHIND_PROXY, startTlsProxy } from '../kit/tls-proxy.ts'
import { deploy } from '../plugins/game-edge/kit.ts'

const DUO = join(import.meta.dirname, '../fixtures/games/duo')

/** Publishes the sample game on a listening platform. */
async function playground(t: Test, extra: Record<string, string> = {}) {
  // On a slow machine the game says more than usual until a lost connection is back.
  // However long a busy machine takes to reconnect, nothing is lost.
  const limits = { roomReplayFrames: 100_000, roomResumeSeconds: 600 }
  const platform = await startPlatform(t, { listen: true, config: { limits } })
  // Rooms limit messages by time, and the test clock does not advance on its own.
  keepPace(t, platform.clock)
  const owner = await platform.signUp({ name: 'Ada' })
  const game = await platform.game(owner, { title: 'Duo' })
  await platform.app.scores.boards.put(game.id, 'lights', { title: 'Lights caught together' })
  const files: Record<string, string | Buffer> = { ...extra }
  for (const name of await readdir(DUO)) files[name] = await readFile(join(DUO, name))
  const program = await platform.program(owner)
  await deploy(platform, program, game.id, files)
  return { platform, owner, program, game, url: platform.app.origins.game(game.slug) }
}

/** Returns the accessible names in the widget, whose shadow root is closed to scripts. */
async function accessibleNames(page: Page): Promise<string[]> {
  const devtools = await page.context().newCDPSession(page)
  const { nodes } = await devtools.send('Accessibility.getFullAXTree')
  await devtools.detach()
  return nodes
    .filter(({ role, name }) => /^(link|button|DisclosureTriangle)/.test(role?.value ?? '') && name?.value)
    .map(({ role, name }) => `${role?.value}: ${name?.value}`)
}

async function clickWidget(page: Page): Promise<void> {
  const box = await page.locator('service-auth').boundingBox()
  if (!box) throw new Error('The widget is not to be seen.')
  await page.mouse.click(box.x + box.width / 2, box.y + 20)
}

async function signInThroughWidget(page: Page, url: string, player: PlayerClient): Promise<void> {
  await page.goto(url)
  await page.locator('service-auth:not([hidden])').waitFor()
  await clickWidget(page)
  await page.locator('input[name=email]').fill(player.account.email)
  await page.locator('input[name=password]').fill(player.account.password)
  await Promise.all([page.waitForURL(`${url}/**`), page.locator('input[name=password]').press('Enter')])
  await page.locator('service-auth:not([hidden])').waitFor()
}

const session = (page: Page) => page.evaluate(() => fetch('/auth/service/session').then((answer) => answer.json()))
const inRoom = (page: Page) => page.waitForFunction(() => 'duo' in window)

t.test('two players sign in through the widget and meet in a room', { timeout: timeLimit(120) }, async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const { platform, owner, url } = await playground(t)
  const bob = await platform.signUp({ name: 'Bob' })
  const [first, second] = [await openPage(browser), await openPage(browser)]

  await first.page.goto(`${url}/?level=2#top`)
  await first.page.locator('service-auth:not([hidden])').waitFor()
  t.match(await accessibleNames(first.page), ['link: Sign in'])
  await expectNoAxeViolations(t, first.page)
  await screenshot(first.page, 'duo-signed-out')
  await first.page.keyboard.press('Tab')
  await first.page.keyboard.press('Enter')
  await first.page.locator('input[name=email]').fill(owner.account.email)
  await first.page.locator('input[name=password]').fill(owner.account.password)
  await first.page.locator('input[name=password]').press('Enter')
  await first.page.waitForURL(`${url}/?level=2#top`)
  t.match(await session(first.page), { signedIn: true, user: { name: 'Ada', id: owner.id } })
  await first.page.locator('service-auth:not([hidden])').waitFor()
  t.ok((await accessibleNames(first.page)).some((words) => words.endsWith('Signed in as Ada')))

  await signInThroughWidget(second.page, url, bob)
  await Promise.all([inRoom(first.page), inRoom(second.page)])
  await first.page.getByText('You are with Bob.').waitFor()
  await second.page.getByText('You are with Ada.').waitFor()

  const received = first.page.evaluate(
    () =>
      new Promise((resolve) => {
        // biome-ignore lint/suspicious/noExplicitAny: the game's own object
        const { room } = (window as any).duo
        room.on('message', (type: string, data: unknown, from: { name: string }) => resolve([type, data, from.name]))
      }),
  )
  await second.page.evaluate("duo.room.send('wave', { hand: 'left' })")
  t.same(await received, ['wave', { hand: 'left' }, 'Bob'])
  t.same(await first.page.evaluate('[duo.room.isHost, duo.room.players.length, duo.room.me.name]'), [true, 2, 'Ada'])
  await second.page.evaluate("duo.room.state.set('score', 7)")
  await first.page.getByText('7 lights caught together').waitFor()
  for (const [{ page }, name] of [
    [first, 'Ada'],
    [second, 'Bob'],
  ] as const) {
    // The element reads the board again after each score of its own page.
    await page.locator('gameyard-board').getByText(name).waitFor()
    t.equal(await page.evaluate("import('/__service/saves.js').then(({ saves }) => saves.get('best'))"), 7)
  }
  const before = await first.page.evaluate('[...duo.others.values()][0].x')
  await second.page.keyboard.down('ArrowRight')
  await first.page.waitForFunction(`[...duo.others.values()][0].x > ${before}`)
  await second.page.keyboard.up('ArrowRight')
  await screenshot(first.page, 'duo')
  t.same(first.complaints, [], 'nothing to complain about')
  t.same(second.complaints, [])

  t.test('a lost network is got over, and nothing said meanwhile is missed', async (t) => {
    await first.page.evaluate(`
      window.roomEvents = []
      for (const name of ['reconnecting', 'reconnected', 'left']) duo.room.on(name, (value) => roomEvents.push([name, value]))
      duo.room.on('message', (type, data) => roomEvents.push([type, data]))`)
    await first.context.setOffline(true)
    // An open WebSocket survives Chromium's offline mode, so the server closes it. Ada's socket is the first.
    const [ada] = platform.app.websocketServer.clients
    ada?.terminate()
    await second.page.evaluate("for (let count = 1; count <= 5; count++) duo.room.send('n', count)")
    await first.page.waitForFunction("roomEvents.some(([name]) => name === 'reconnecting')")
    await first.context.setOffline(false)
    await first.page.waitForFunction("roomEvents.some(([name]) => name === 'reconnected')")
    const reconnected = await first.page.evaluate("roomEvents.find(([name]) => name === 'reconnected')[1]")
    t.match(reconnected, { missed: false })
    await first.page.waitForFunction("roomEvents.filter(([name]) => name === 'n').length >= 5")
    const roomEvents = (await first.page.evaluate('roomEvents')) as [string, unknown][]
    t.same(
      roomEvents.filter(([name]) => name === 'n').map(([, count]) => count),
      [1, 2, 3, 4, 5],
      'in order, none twice',
    )
  })

  t.test('the host’s tab closes and the other takes over', async (t) => {
    const ended = first.page.evaluate("new Promise((resolve) => duo.room.on('left', resolve))")
    await first.page.evaluate('duo.room.leave(); duo.room.leave()')
    t.equal(await ended, 'left')
    await second.page.waitForFunction('duo.room.isHost && duo.room.players.length === 1')
    t.pass('host')
  })

  t.test('the chip signs out', async (t) => {
    await clickWidget(second.page)
    t.ok((await accessibleNames(second.page)).includes('button: Sign out'))
    const box = await second.page.locator('service-auth').boundingBox()
    await Promise.all([
      second.page.waitForEvent('load'),
      second.page.mouse.click((box?.x ?? 0) + (box?.width ?? 0) / 2, (box?.y ?? 0) + (box?.height ?? 0) + 26),
    ])
    t.same(await session(second.page), { signedIn: false })
  })
})

inFull(t)?.test(
  'the widget gets along with a strict policy and unruly styles of the page',
  { timeout: timeLimit(60) },
  async (t) => {
    const browser = await openBrowser(t, [], { whole: true })
    if (!browser) return
    const policy = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'"
    const strict = `<!doctype html><html lang="en"><head><meta http-equiv="content-security-policy" content="${policy}">
    <title>Strict</title><link rel="stylesheet" href="/wild.css"></head><body><main><h1>Strict</h1></main></body></html>`
    const wild = 'body > * { position: static !important; display: none; width: 100%; color: red }'
    const { url } = await playground(t, { 'strict.html': strict, 'wild.css': wild })
    const { page, complaints } = await openPage(browser)
    await page.goto(`${url}/strict.html`)
    await page.locator('service-auth:not([hidden])').waitFor()
    const box = await page.locator('service-auth').boundingBox()
    t.ok(box && box.width < 200 && box.y < 40, 'it stands in its corner')
    t.same(complaints, [])
  },
)

t.test('on the play page the game is signed in without a click', { timeout: timeLimit(90) }, async (t) => {
  const browser = await openBrowser(t, [], { whole: true })
  if (!browser) return
  const { platform, owner, program, game, url } = await playground(t)
  for (const isolated of ALL ? [false, true] : [true]) {
    await program.patch(`/api/games/${game.id}`, { settings: { crossOriginIsolated: isolated } })
    const { page, context } = await openPage(browser)
    await signInAtPortal(context, platform.portal, owner)
    await page.goto(game.playUrl)
    const frame = page.frameLocator('iframe')
    await frame.getByText(/^Waiting for your partner/).waitFor()
    const inside = page.frames().find((one) => one.url() === `${url}/`)
    t.match(await inside?.evaluate("fetch('/auth/service/session').then((answer) => answer.json())"), {
      signedIn: true,
      user: { name: 'Ada' },
    })
    t.equal(await inside?.evaluate('crossOriginIsolated'), isolated, `isolated: ${isolated}`)
    t.equal(await frame.locator('service-auth').isVisible(), false, 'the widget keeps out of the way')
    await context.close()
  }
})

t.test(
  'a proxy may forbid referrers: the play page still signs the player in',
  { timeout: timeLimit(60) },
  async (t) => {
    const platform = await startPlatform(t, { listen: true, config: BEHIND_PROXY })
    const { port } = platform.app.server.address() as AddressInfo
    const proxy = await startTlsProxy(t, { port }, {}, ['referrer-policy', 'no-referrer'])
    const browser = proxy && (await openBrowser(t, proxy.chromiumFlags, { whole: true }))
    if (!browser) return
    const owner = await platform.signUp({ name: 'Ada' })
    const game = await platform.game(owner)
    await deploy(platform, await platform.program(owner), game.id, { 'index.html': '<title>Pong</title><h1>Pong</h1>' })
    const { page, context } = await openPage(browser)
    await signInAtPortal(context, platform.portal, owner)
    const tokens: string[] = []
    page.on('request', (request) => {
      if (request.url().endsWith('/auth/service/frame-token')) tokens.push(request.url())
    })
    const answer = await page.goto(game.playUrl)
    t.match(await answer?.headerValue('referrer-policy'), /no-referrer$/, 'the header of the proxy counts, of the two')
    await page.frameLocator('iframe').getByText('Pong').waitFor()
    const inside = page.frames().find((one) => one.url() === `${platform.app.origins.game(game.slug)}/`)
    const session = await inside?.evaluate("fetch('/auth/service/session').then((answer) => answer.json())")
    t.match(session, { signedIn: true, user: { name: 'Ada' } })
    t.same(tokens, [], 'by the cookie, as without the proxy')
  },
)

async function signInAtPortal(context: BrowserContext, portal: string, player: PlayerClient): Promise<void> {
  const page = await context.newPage()
  await page.goto(`${portal}/sign-in`)
  await page.locator('input[name=email]').fill(player.account.email)
  await page.locator('input[name=password]').fill(player.account.password)
  await Promise.all([page.waitForURL(`${portal}/`), page.locator('input[name=password]').press('Enter')])
  await page.close()
}

inFull(t)?.test('a room that can’t be entered says why', { timeout: timeLimit(60) }, async (t) => {
  const browser = await openBrowser(t, [], { whole: true })
  if (!browser) return
  const { url } = await playground(t)
  const { page } = await openPage(browser)
  await page.goto(url)
  const failure = await page.evaluate(`import('/__service/multiplayer.js').then(({ join }) => join('lobby')).then(
    () => null, ({ name, code, status, signIn }) => ({ name, code, status, signIn }))`)
  t.same(failure, { name: 'RoomError', code: 'auth_required', status: 401, signIn: '/auth/service/start' })
})

t.test('the scripts are small, cached shortly and revalidated', async (t) => {
  const { platform, game } = await playground(t)
  const host = platform.gameHost(game.slug)
  for (const [name, limit] of [
    ['auth-widget.js', 6000],
    ['multiplayer.js', 8000],
  ] as const) {
    const script = await platform.stranger.get(`/__service/${name}`, { host })
    t.match(script, { status: 200, headers: { 'content-type': /^text\/javascript/, 'cache-control': /max-age=300/ } })
    t.ok(gzipSync(script.text, { level: 9 }).length < limit, `${name}: ${gzipSync(script.text).length} bytes`)
    const again = await platform.stranger.get(`/__service/${name}`, {
      host,
      headers: { 'if-none-match': script.headers.etag as string },
    })
    t.equal(again.status, 304)
  }
})
