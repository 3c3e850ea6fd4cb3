// Coin Rush in real browsers: on one node, on two, and while the processes that have its room are killed.
import type { Browser, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import WebSocket from 'ws'
import { start } from '../../bin/program.ts'
import { openBrowser, openPage, type WatchedPage } from '../../kit/browser.ts'
import { type Server, startServer } from '../../kit/server.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { until as poll } from '../../kit/until.ts'
import { ask } from '../../kit/upload.ts'
import type { Visitor } from '../../kit/visitor.ts'
import { deployFiles, mustAsk, signUp, tokenOf } from '../../system/cluster-players.ts'
import { CHEATS, type Cheater, ROOM } from './cheats.ts'
import { playHonestly, settle } from './honest.ts'
import { outcomeOf } from './outcome.ts'
import { withRounds } from './short-rounds.ts'

t.setTimeout(timeLimit(900))

const ROUND_MS = 12_000
const CONFIG = { blender: { driver: 'none' }, limits: { rateLimits: false } }
const SCOPES = ['games:read', 'games:write', 'deployments:write']

/** What the test adds to the script, so that it logs and throws. */
const TALKING = `
export const close = (room) => room.log('closed')
export function binary(room, player) {
  room.log(room.id, 'has bytes of', player.name)
  throw new TypeError('No bytes, please.')
}
`

/** A platform with the starter, and two people. */
async function openYard(t: Test, processes: number) {
  const env = { SERVICE_LISTEN__PROCESSES: String(processes) }
  const server = await startServer(t, { config: CONFIG, ...(processes > 1 ? { env } : {}) })
  const { portal, port } = server
  const ada = await signUp(portal, 'Ada')
  const grace = await signUp(portal, 'Grace')
  const made = await ada.submit(`${portal}/games/new/starter`, { starter: 'authority', title: '' })
  const slug = String(made.headers.location).split('/').at(-1) as string
  const token = await tokenOf(ada, portal, SCOPES)
  const files = await withRounds(ROUND_MS)
  files.set('room.js', Buffer.concat([files.get('room.js') as Buffer, Buffer.from(TALKING)]))
  await deployFiles(portal, token, slug, files, { room: 'room.js' })
  return { server, portal, port, slug, token, ada, grace, site: `http://${slug}.localhost:${port}` }
}

type Yard = Awaited<ReturnType<typeof openYard>>

/** Somebody who plays in a browser. */
class BrowserPlayer {
  readonly name: string
  readonly page: Page
  readonly complaints: string[]

  constructor(name: string, { page, complaints }: WatchedPage) {
    this.name = name
    this.page = page
    this.complaints = complaints
  }

  static async enter(browser: Browser, yard: Yard, name: string, visitor: Visitor): Promise<BrowserPlayer> {
    const opened = await openPage(browser, { viewport: { width: 700, height: 860 } })
    const cookies = visitor.cookies(yard.portal).split('; ')
    await opened.context.addCookies(
      cookies.map((cookie) => {
        const [name = '', value = ''] = cookie.split('=')
        return { name, value, url: yard.portal }
      }),
    )
    const player = new BrowserPlayer(name, opened)
    await opened.page.goto(`${yard.site}/auth/service/start?returnTo=/`)
    await player.isIn()
    return player
  }

  async isIn(): Promise<void> {
    await this.page.waitForFunction('window.room?.state.get("players")?.[room.me.id]', undefined, {
      timeout: timeLimit(120),
    })
    // Every result of a finished round, once, as the platform announces them.
    await this.page.evaluate(`if (!window.results) {
      window.results = new Map()
      const keep = () => (room.state.get('results') ?? []).forEach((one) => results.set(one.id + one.round, one))
      room.on('state', keep)
      room.on('reconnected', keep)
    }`)
  }

  /** Moves the mouse from coin to coin until some are collected. */
  async collect(coins: number): Promise<void> {
    const before = (await this.page.evaluate('results.size')) as number
    await this.page.mouse.move(350, 300)
    await this.page.mouse.down()
    for (;;) {
      const seen = (await this.page.evaluate(`(() => {
        const me = room.state.get('players')?.[room.me.id]
        if (!me) return null
        const { left, top, width } = document.querySelector('#field').getBoundingClientRect()
        const far = (coin) => Math.hypot(coin.x - me.x, coin.y - me.y)
        const [{ x, y }] = room.state.get('coins').toSorted((one, other) => far(one) - far(other))
        return { points: me.points, x: left + (x * width) / 600, y: top + (y * width) / 600, rounds: results.size }
      })()`)) as { points: number; x: number; y: number; rounds: number } | null
      if (seen && (seen.points >= coins || seen.rounds > before)) break
      if (seen) await this.page.mouse.move(seen.x, seen.y)
      await this.page.waitForTimeout(60)
    }
    await this.page.mouse.up()
  }

  /** The results that this page has seen, of all players. */
  async results(): Promise<Result[]> {
    return (await this.page.evaluate('[...results.values()]')) as Result[]
  }
}

interface Result {
  id: string
  round: number
  points: number
}

/** Compares what is kept of each player with the results that the pages have seen. */
async function isKept(t: Test, yard: Yard, players: readonly BrowserPlayer[]) {
  for (const { page } of players) {
    await page.waitForFunction('room.state.get("results").length === 0', undefined, { timeout: timeLimit(120) })
  }
  const seen = (await Promise.all(players.map((player) => player.results()))).flat()
  const results = [...new Map(seen.map((result) => [`${result.id} ${result.round}`, result])).values()]
  const { body } = await mustAsk('GET', `${yard.portal}/api/games/${yard.slug}/boards/coins/scores`)
  t.equal(body.entries.length, players.length, 'each player stands on the board once')
  for (const { name, page } of players) {
    const id = await page.evaluate('room.me.id')
    const own = results.filter((result) => result.id === id).map(({ points }) => points)
    t.equal(
      body.entries.find(({ player }: { player: { name: string } }) => player.name === name)?.score,
      Math.max(...own),
      `${name}’s best round is on the board`,
    )
  }
}

const ROUNDS = 'new Set([...results.values()].map(({ round }) => round)).size'

/** What a page shows, and knows of its room. */
const SHOWN = `JSON.stringify({
  say: document.querySelector('#say').textContent, points: document.querySelector('#points').textContent,
  me: room.me?.id, players: room.players.length, endsIn: room.state.get('endsAt') - Date.now(),
  results: room.state.get('results'), version: room.state.version })`

/** Waits until a page has seen the end of so many further rounds. @throws Error with what the page shows instead */
async function seeRounds({ name, page, complaints }: BrowserPlayer, { server }: Yard, further: number): Promise<void> {
  const before = (await page.evaluate(ROUNDS)) as number
  try {
    await page.waitForFunction(`${ROUNDS} >= ${before + further}`, undefined, { timeout: timeLimit(180) })
  } catch (cause) {
    const log = server.output().split('\n').slice(-20).join('\n')
    throw new Error(`${name} saw no further round: ${await page.evaluate(SHOWN)}\n${complaints.join('\n')}\n${log}`, {
      cause,
    })
  }
}

t.test('two browsers play on one node', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const yard = await openYard(t, 1)
  const ada = await BrowserPlayer.enter(browser, yard, 'Ada', yard.ada)
  const grace = await BrowserPlayer.enter(browser, yard, 'Grace', yard.grace)
  await Promise.all([ada.collect(2), grace.collect(2)])
  for (const { page } of [ada, grace]) await page.locator('#points', { hasText: /Ada \d+, Grace \d+\./ }).waitFor()
  await Promise.all([ada, grace].map((player) => seeRounds(player, yard, 1)))
  for (const { page } of [ada, grace]) await page.locator('#say', { hasText: 'Your best is' }).waitFor()
  await isKept(t, yard, [ada, grace])
  for (const { complaints } of [ada, grace]) t.same(complaints, [], 'nothing is wrong')

  const again = await BrowserPlayer.enter(browser, yard, 'Ada', yard.ada)
  await ada.page.locator('#say', { hasText: 'kicked' }).waitFor()
  t.equal(await again.page.evaluate('room.players.length'), 2, 'whoever comes again gives up the former place')
})

t.test('a bot in the console of the page wins nothing', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const yard = await openYard(t, 1)
  await yard.ada.follow(`${yard.site}/auth/service/start?returnTo=/`)
  const headers = { host: new URL(yard.site).host, origin: yard.site, cookie: yard.ada.cookies(yard.site) }
  const socket = new WebSocket(`ws://127.0.0.1:${yard.port}${ROOM}`, { headers })
  t.teardown(() => socket.terminate())
  const honest = await playHonestly(socket)
  const { page } = await BrowserPlayer.enter(browser, yard, 'Grace', yard.grace)
  await page.evaluate(`globalThis.outcomeOf = ${outcomeOf}`)
  await page.evaluate(`globalThis.ask = async (method, path, { body, signedOut } = {}) => {
    const answer = await fetch(path, { method, credentials: signedOut ? 'omit' : 'include',
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }) })
    const { error } = await answer.json().catch(() => ({}))
    return [answer.status, error?.code ?? error].join(' ').trim()
  }`)
  await page.evaluate(`globalThis.enter = async (path) => {
    const opened = new WebSocket(path.replace(/^/, location.origin.replace('http', 'ws')))
    const welcome = await new Promise((resolve) => {
      opened.addEventListener('message', ({ data }) => resolve(JSON.parse(data)), { once: true })
      opened.addEventListener('close', () => resolve(null), { once: true })
    })
    if (welcome === null) return ask('GET', path)
    globalThis.own = opened
    return 'entered as ' + welcome.you
  }`)
  const console = (expression: string) => page.evaluate(expression) as Promise<string>
  const cheater: Cheater = {
    send: (...frames) =>
      console(`(async () => {
        if (globalThis.own?.readyState !== 1) await enter('${ROOM}')
        return outcomeOf(own, ${JSON.stringify(frames)})
      })()`),
    ask: (...values) => console(`ask(...${JSON.stringify(values)})`),
    enter: (path) => console(`enter(${JSON.stringify(path)})`),
  }
  for (const { name, try: attempt, expected } of CHEATS) {
    t.equal(await attempt(cheater, honest.victim), expected, name)
    await honest.step()
    t.same(honest.referee.violations.splice(0), [], `${name}: nothing else happens`)
  }
  await settle(honest, (frame) => cheater.send(frame))
  t.same(honest.referee.violations, [])
  const { body } = await mustAsk('GET', `${yard.portal}/api/games/${yard.slug}/boards/coins/scores`)
  const reached = honest.referee.results.map(({ points }) => points)
  for (const { score, player } of body.entries) t.ok(reached.includes(score), `${player.name} has ${score}`)
})

/** The ids of the processes that have begun to serve, by their number, the latest last. */
function pidsOf(server: Server): Map<number, number[]> {
  const pids = new Map<number, number[]>()
  for (const line of server.output().split('\n')) {
    if (!line.includes('"a process serves"')) continue
    const { process: number, pid } = JSON.parse(line)
    pids.set(number, [...(pids.get(number) ?? []), pid])
  }
  return pids
}

/** Polls for what processes and browsers do after their start, which takes long beside other work. */
const until = (holds: () => boolean | Promise<boolean>) => poll(holds, 240)

/** The number of room sockets of each process. */
async function socketsOf({ port }: Yard): Promise<number[]> {
  const { body } = await ask('GET', `http://127.0.0.1:${port}/metrics`, { headers: { host: 'localhost' } })
  const count = (process: number) =>
    Number(new RegExp(`^gameyard_room_sockets\\{process="${process}"\\} (\\d+)`, 'm').exec(String(body))?.[1] ?? 0)
  return [1, 2].map(count)
}

t.test('two browsers play on two nodes, and across a kill -9 of each', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const yard = await openYard(t, 2)
  const { server } = yard
  await until(() => pidsOf(server).size === 2)
  const ada = await BrowserPlayer.enter(browser, yard, 'Ada', yard.ada)
  const grace = await BrowserPlayer.enter(browser, yard, 'Grace', yard.grace)
  await until(async () => {
    const sockets = await socketsOf(yard)
    if (sockets.every((count) => count === 1)) return true
    await grace.page.reload()
    await grace.isIn()
    return false
  })
  await Promise.all([ada.collect(2), grace.collect(2)])
  await Promise.all([ada, grace].map((player) => seeRounds(player, yard, 1)))
  await isKept(t, yard, [ada, grace])

  for (const number of [1, 2]) {
    await Promise.all([ada.collect(1), grace.collect(1)])
    const ids = await Promise.all([ada, grace].map(({ page }) => page.evaluate('room.me.id')))
    // At the end of a round, while the results are being recorded.
    await seeRounds(ada, yard, 1)
    process.kill(pidsOf(server).get(number)?.at(-1) as number, 'SIGKILL')
    await until(() => (pidsOf(server).get(number)?.length ?? 0) >= 2)
    await Promise.all([ada, grace].map((player) => seeRounds(player, yard, 1)))
    t.same(
      await Promise.all([ada, grace].map(({ page }) => page.evaluate('room.me.id'))),
      ids,
      `process ${number} was killed: both are back as who they were`,
    )
    await Promise.all([ada.collect(1), grace.collect(1)])
    for (const { page } of [ada, grace]) await page.locator('#points', { hasText: /Ada \d+, Grace \d+\./ }).waitFor()
  }
  await Promise.all([ada, grace].map((player) => seeRounds(player, yard, 1)))
  await isKept(t, yard, [ada, grace])
})

t.test('a log has the lines of rooms on both nodes, for whoever follows it on either', async (t) => {
  const yard = await openYard(t, 2)
  const { server, portal, port, site, token, slug } = yard
  await until(() => pidsOf(server).size === 2)
  const env = { SERVICE_API_TOKEN: token, SERVICE_BASE_URL: portal }
  // Of several connections some are at each process.
  const followers = Array.from({ length: 3 }, () => start(t, ['logs', '--follow', '--game', slug, '--json'], { env }))
  await yard.ada.follow(`${site}/auth/service/start?returnTo=/`)
  const headers = { host: new URL(site).host, origin: site, cookie: yard.ada.cookies(site) }
  const rooms: string[] = []
  const enter = async () => {
    const room = `hall-${rooms.length}`
    rooms.push(room)
    const socket = new WebSocket(`ws://127.0.0.1:${port}/mp/rooms/${room}`, { headers })
    t.teardown(() => socket.terminate())
    await new Promise((resolve) => socket.once('message', resolve))
    socket.send(new Uint8Array(3))
  }
  while (rooms.length < 8) await enter()
  // The system spreads connections over the processes by chance. A player may have 20 sockets.
  await until(async () => {
    if (Math.min(...(await socketsOf(yard))) > 0) return true
    if (rooms.length < 20) await enter()
    return false
  })
  for (const follower of followers) {
    for (const room of rooms) await follower.says(`"text":"${room} has bytes of Ada"`)
    await until(() => follower.output().stdout.split('No bytes, please.').length > rooms.length)
    t.match(follower.output().stdout, /"line":\d+,"column":\d+/)
    follower.process.kill('SIGINT')
  }
  const cookie = yard.ada.cookies(portal)
  const { body } = await mustAsk('GET', `${portal}/games/${slug}/rooms`, { headers: { cookie } })
  for (const room of rooms) t.match(body, room, `${room} is in the dashboard`)
  t.match(body, '<mark>', 'the error is shown with its line')
})
