// Rooms in a real browser, behind a network that loses what it carries.
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { join } from '../../clients/browser/multiplayer.ts'
import { openBrowser, openPage } from '../kit/browser.ts'
import { inFull } from '../kit/extent.ts'
import { startFaultyNetwork } from '../kit/faulty-network.ts'
import { startPlatform } from '../kit/platform.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { until } from '../kit/until.ts'
import { deploy } from '../plugins/game-edge/kit.ts'
import { headersOf, signInTo } from '../plugins/multiplayer/kit.ts'
import { openPages } from '../plugins/multiplayer/page.ts'

const GAME = `<!doctype html><title>Bad network</title>
<script type="module">
  import { join } from '/__service/multiplayer.js'
  const room = await join('lobby')
  const received = []
  const events = []
  room.on('message', (type, data) => received.push(data))
  for (const name of ['reconnecting', 'reconnected', 'left']) room.on(name, (info) => events.push([name, info]))
  Object.assign(globalThis, { room, received, events })
</script>`

/** Starts a game whose public address is that of a faulty network. */
async function startGame(t: Test) {
  const network = await startFaultyNetwork(t)
  const address = `localhost:${network.port}`
  const config = { portal: { url: `http://${address}` }, games: { domain: address } }
  const platform = await startPlatform(t, { listen: true, config })
  network.target = (platform.app.server.address() as { port: number }).port
  const owner = await platform.signUp({ name: 'Ada' })
  const game = await platform.game(owner, { settings: { multiplayer: {} } })
  await deploy(platform, await platform.program(owner), game.id, { 'index.html': GAME })
  const host = platform.gameHost(game.slug)
  const openDirectly = openPages(t, network.target)
  /** Enters the room as another player, without a browser and without the faulty network. */
  const enter = async (name: string) => {
    const player = await platform.signUp({ name })
    await signInTo(player, host)
    const room = await join('lobby', { origin: openDirectly(headersOf(player, host)) })
    t.teardown(() => room.leave())
    const received: unknown[] = []
    room.on('message', (_type, data) => received.push(data))
    return { room, received }
  }
  /** Opens the game in a browser, as its owner. */
  const open = async (browser: NonNullable<Awaited<ReturnType<typeof openBrowser>>>) => {
    await signInTo(owner, host)
    const opened = await openPage(browser)
    const origin = platform.app.origins.game(game.slug)
    const cookies = [...owner.cookiesOf(host)].map(([name, value]) => ({ name, value, url: origin }))
    await opened.context.addCookies(cookies)
    await opened.page.goto(origin)
    await opened.page.waitForFunction('globalThis.room !== undefined')
    return opened
  }
  return { platform, network, enter, open }
}

inFull(t)?.test('a player who reloads a locked room is back in it', { timeout: timeLimit(90) }, async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const { enter, open } = await startGame(t)
  const { page } = await open(browser)
  const bob = await enter('Bob')
  const seen: unknown[] = []
  for (const name of ['away', 'back', 'leave', 'join', 'host'] as const) bob.room.on(name, () => seen.push(name))
  await page.evaluate("room.lock(); room.state.set('score', 2)")
  await until(() => bob.room.state.get('score') === 2)
  for (let round = 0; round < 2; round++) {
    await page.reload()
    await page.waitForFunction('globalThis.room !== undefined')
    t.same(await page.evaluate("[room.me.id, room.isHost, room.state.get('score')]"), ['p1', true, 2])
  }
  // On a busy machine the new page may arrive before the end of the former one is known.
  t.notOk(seen.some((name) => ['leave', 'join', 'host'].includes(name as string)))
})

/** Lets the page's time run faster, and nothing else of it. */
const speedUp = (page: Page, times: number) =>
  page.evaluate(`{
    const now = performance.now.bind(performance)
    const began = now()
    performance.now = () => began + (now() - began) * ${times}
  }`)

t.test('a player in a half-open connection loses nothing', { timeout: timeLimit(90) }, async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const { network, enter, open } = await startGame(t)
  const { page } = await open(browser)
  const bob = await enter('Bob')
  await page.evaluate("room.send('n', 1)")
  await until(() => bob.received.length === 1)
  network.isSwallowing = true
  await page.evaluate("room.send('n', 2); room.state.set('score', 2)")
  bob.room.send('n', 'to Ada')
  // The client gives up after 25 s without an answer to a ping.
  await speedUp(page, 4)
  await page.waitForFunction("events.some(([name]) => name === 'reconnecting')")
  await page.evaluate("room.send('n', 3)")
  network.isSwallowing = false
  await until(() => bob.received.length === 3)
  t.same(bob.received, [1, 2, 3])
  t.same(await page.evaluate('received'), ['to Ada'])
  t.same(await page.evaluate('events'), [
    ['reconnecting', null],
    ['reconnected', { missed: false, dropped: 0 }],
  ])
  t.equal(await page.evaluate('room.isHost'), true)
})
