import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import t, { type Test } from 'tap'
import { expectNoAxeViolations, openBrowser, openPage, screenshot } from '../kit/browser.ts'
import { keepPace } from '../kit/driver-context.ts'
import { type PlayerClient, startPlatform } from '../kit/platform.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { deploy } from '../plugins/game-edge/kit.ts'
import { signInTo } from '../plugins/multiplayer/kit.ts'

const DUO = join(import.meta.dirname, '../fixtures/games/duo')
const AWAY_MS = 10_000

/** A worker that enters a room and forwards the events to its page. */
const WORKER = `import { join } from '/__service/multiplayer.js'
const room = await join('duo')
room.on('message', (type, data, from) => postMessage([type, data, from.name]))
room.send('from a worker', room.players.length)
postMessage(['ready', room.latency === null || room.latency >= 0, Math.abs(room.now() - Date.now()) < 1e12])`

async function playground(t: Test) {
  const platform = await startPlatform(t, { listen: true })
  // Rooms limit messages by time, and the test clock does not advance on its own.
  keepPace(t, platform.clock)
  const owner = await platform.signUp({ name: 'Ada' })
  const game = await platform.game(owner, { title: 'Duo' })
  await platform.app.scores.boards.put(game.id, 'lights', { title: 'Lights caught together' })
  const files: Record<string, string | Buffer> = { 'worker.js': WORKER }
  for (const name of await readdir(DUO)) files[name] = await readFile(join(DUO, name))
  await deploy(platform, await platform.program(owner), game.id, files)
  const origin = platform.app.origins.game(game.slug)

  /** Opens a separate browser in which a player is signed in to the game. */
  const play = async (browser: Browser, player: PlayerClient) => {
    const host = platform.gameHost(game.slug)
    await signInTo(player, host)
    const opened = await openPage(browser)
    const cookies = [...player.cookiesOf(host)].map(([name, value]) => ({ name, value, url: origin }))
    await opened.context.addCookies(cookies)
    await opened.page.goto(origin)
    await opened.page.waitForFunction('window.duo !== undefined')
    // This records all messages that the player receives, in order.
    await opened.page.evaluate(`
      window.received = []
      window.roomEvents = []
      duo.room.on('message', (type, data) => { if (type === 'n') received.push(data) })
      duo.room.on('state', (set) => { if (set.step) received.push('step ' + set.step) })
      for (const name of ['reconnecting', 'reconnected', 'left']) duo.room.on(name, (info) => roomEvents.push([name, info]))`)
    return opened
  }
  return { platform, owner, game, origin, play }
}

t.test('three browsers play: one is away for 10 s, the host goes', { timeout: timeLimit(120) }, async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const { platform, owner, game, play } = await playground(t)
  const people = [owner, await platform.signUp({ name: 'Bob' }), await platform.signUp({ name: 'Eve' })]
  const [ada, bob, eve] = [
    await play(browser, people[0] as PlayerClient),
    await play(browser, people[1] as PlayerClient),
    await play(browser, people[2] as PlayerClient),
  ]
  for (const { page } of [ada, bob, eve]) await page.waitForFunction('duo.room.players.length === 3')
  t.same(await Promise.all([ada, bob, eve].map(({ page }) => page.evaluate('duo.room.isHost'))), [true, false, false])

  await t.test('whoever loses the network for 10 s misses nothing', async (t) => {
    await eve.context.setOffline(true)
    // An open WebSocket survives Chromium's offline mode, so the server closes it. Eve's socket is the last.
    const sockets = [...platform.app.websocketServer.clients]
    sockets.at(-1)?.terminate()
    await eve.page.waitForFunction("roomEvents.some(([name]) => name === 'reconnecting')")
    const began = platform.clock.now().getTime()
    let said = 0
    while (platform.clock.now().getTime() - began < AWAY_MS) {
      await ada.page.evaluate(`duo.room.send('n', ${++said}, 'all')`)
      await bob.page.evaluate(`duo.room.state.set('step', ${said})`)
      for (const { page } of [ada, bob])
        await page.waitForFunction(`received.includes('step ${said}') && received.includes(${said})`)
      platform.clock.advance(200)
    }
    await eve.page.evaluate("duo.room.send('n', 'said while away')")
    await eve.context.setOffline(false)
    await eve.page.waitForFunction(`received.includes('step ${said}') && received.includes(${said})`)
    await ada.page.waitForFunction("received.includes('said while away')")
    const of = ({ page }: typeof ada) => page.evaluate("received.filter((one) => one !== 'said while away')")
    t.same(await of(eve), await of(ada), `all ${2 * said} things, in the same order as the others`)
    t.match(await eve.page.evaluate('roomEvents.at(-1)'), ['reconnected', { missed: false }])
    t.equal(await eve.page.evaluate("duo.room.state.get('step')"), said)
  })

  await t.test('whoever missed more than is kept begins anew, and is told', async (t) => {
    await eve.context.setOffline(true)
    const sockets = [...platform.app.websocketServer.clients]
    sockets.at(-1)?.terminate()
    await eve.page.waitForFunction("roomEvents.at(-1)[0] === 'reconnecting'")
    // The players send 300 messages at the highest permitted rate.
    for (const { page } of [ada, bob])
      await page.evaluate("window.noise = 0; duo.room.on('message', (type) => { if (type === 'noise') noise++ })")
    for (let round = 1; round <= 6; round++) {
      for (const { page } of [ada, bob]) await page.evaluate("for (let n = 0; n < 25; n++) duo.room.send('noise', n)")
      for (const { page } of [ada, bob]) await page.waitForFunction(`noise === ${25 * round}`)
      platform.clock.advance(500)
    }
    await bob.page.evaluate("duo.room.state.set('step', 9999)")
    await ada.page.waitForFunction("received.includes('step 9999')")
    await eve.context.setOffline(false)
    await eve.page.waitForFunction("roomEvents.at(-1)[0] === 'reconnected'")
    t.match(await eve.page.evaluate('roomEvents.at(-1)'), ['reconnected', { missed: true }])
    t.equal(await eve.page.evaluate("duo.room.state.get('step')"), 9999, 'with the state of now')
    t.equal(await eve.page.evaluate('duo.room.players.length'), 3)
  })

  await t.test('a room works in a worker', async (t) => {
    const told = await ada.page.evaluate(`new Promise((resolve, reject) => {
      const told = []
      const worker = new Worker('worker.js', { type: 'module' })
      worker.onerror = (event) => reject(event.message)
      worker.onmessage = ({ data }) => {
        told.push(data)
        if (data[0] === 'ready') duo.room.send('to the worker', 7)
        if (data[0] === 'to the worker') { worker.terminate(); resolve(told) }
      }
    })`)
    t.match(told, [
      ['ready', true, true],
      ['to the worker', 7, 'Ada'],
    ])
  })

  await t.test('the owner sees the room on the dashboard of the game', async (t) => {
    const { page, context, complaints } = await openPage(browser)
    const portal = platform.portal
    const cookies = [...owner.cookiesOf()].map(([name, value]) => ({ name, value, url: portal }))
    await context.addCookies(cookies)
    await page.goto(`${portal}/games/${game.slug}`)
    await page.goto(`${portal}/games/${game.slug}/settings`)
    await page.getByRole('link', { name: 'Rooms', exact: true }).click()
    await page.getByRole('rowheader', { name: 'duo' }).waitFor()
    t.match(await page.locator('.stats').textContent(), /rooms\s*1(?!\d)/)
    await expectNoAxeViolations(t, page)
    await screenshot(page, 'rooms')
    t.same(complaints, [])
    await context.close()
  })

  await t.test('the host’s tab closes and the next takes over', async (t) => {
    await ada.context.close()
    await bob.page.waitForFunction("duo.room.isHost && duo.room.host?.name === 'Bob'")
    await eve.page.waitForFunction("!duo.room.isHost && duo.room.host?.name === 'Bob'")
    await bob.page.evaluate("duo.room.send('n', 'on we go')")
    await eve.page.waitForFunction("received.includes('on we go')")
    t.same(bob.complaints, [])
  })
})

t.test('the pages of rooms are their owner’s', async (t) => {
  const { platform, owner, game } = await playground(t)
  const path = `/games/${game.slug}/rooms`
  const page = await owner.get(path)
  t.equal(page.status, 200)
  t.match(page.text, /Nobody is in a room/)
  const stranger = await platform.signUp()
  t.equal((await stranger.get(path)).status, 404)
  t.equal((await platform.stranger.get(path)).status, 303)
})
