/**
 * Counts what a room loses while all of its players hide their tabs: each plays in a tab of Chromium, opens another one in
 * front of it, and returns after ten minutes. The browser throttles the timers of hidden tabs as it does for people.
 *
 *     npx node bench/hidden-tabs.ts
 *
 * PLAYERS (8), MINUTES (10). Chromium's grace period is shortened from five minutes to ten seconds, so that timers run once
 * a minute for the rest of the time.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import WebSocket from 'ws'
import { startPlatform } from '../test/kit/platform.ts'
import { deploy } from '../test/plugins/game-edge/kit.ts'
import { signInTo } from '../test/plugins/multiplayer/kit.ts'
import { machine } from './servers.ts'

const PLAYERS = Number(process.env.PLAYERS ?? 8)
const MINUTES = Number(process.env.MINUTES ?? 10)
const GAME = `<!doctype html><title>Game</title><script type="module">
import { join } from '/__service/multiplayer.js'
const room = await join('lobby')
const events = []
for (const name of ['join', 'leave', 'host', 'left', 'reconnecting', 'reconnected', 'away', 'back'])
  room.on(name, (about) => events.push(name + ' ' + JSON.stringify(about?.id ?? about ?? null)))
const heard = []
room.on('message', (type, data, from) => heard.push(from.id))
const ticks = []
setInterval(() => ticks.push(document.visibilityState), 1000)
window.game = {
  send: () => room.send('back', 1),
  read: () => ({
    me: room.me.id, host: room.host?.id, players: room.players.map(({ id }) => id).sort(), connected: room.connected,
    events: events.splice(0), heard: heard.splice(0), ticks: ticks.splice(0), visibility: document.visibilityState,
  }),
}
</script>`

interface Tab {
  me: string
  host: string
  players: string[]
  connected: boolean
  events: string[]
  heard: string[]
  ticks: string[]
  visibility: string
}

const t = { teardown() {} } as unknown as Test
const platform = await startPlatform(t, { listen: true })
const owner = await platform.signUp()
const game = await platform.game(owner, { settings: { multiplayer: {}, authWidget: 'off' } })
await deploy(platform, await platform.program(owner), game.id, { 'index.html': GAME })
const url = platform.app.origins.game(game.slug)

// Playwright tells its pages that they are always in front, so the browser is controlled without it.
const profile = mkdtempSync(join(tmpdir(), 'gameyard-tabs-'))
const browser: ChildProcess = spawn(
  execFileSync('which', ['chromium'], { encoding: 'utf8' }).trim(),
  [
    '--headless=new',
    '--no-sandbox',
    '--disable-gpu',
    '--no-first-run',
    '--disable-background-networking',
    '--remote-debugging-port=0',
    `--user-data-dir=${profile}`,
    '--enable-features=IntensiveWakeUpThrottling:grace_period_seconds/10',
    'about:blank',
  ],
  { stdio: ['ignore', 'ignore', 'pipe'] },
)
let devtools = ''
for await (const line of createInterface({ input: browser.stderr as NodeJS.ReadableStream })) {
  devtools = /^DevTools listening on (\S+)/.exec(line)?.[1] ?? ''
  if (devtools) break
}
const socket = new WebSocket(devtools)
await once(socket, 'open')
// biome-ignore lint/suspicious/noExplicitAny: answers of any command
const answers = new Map<number, (result: any) => void>()
socket.on('message', (data) => {
  const { id, result, error } = JSON.parse(String(data))
  if (error) throw new Error(`Chromium: ${error.message}`)
  answers.get(id)?.(result)
})
let commands = 0
/** Sends a command of the DevTools protocol, to a page or to the browser. */
// biome-ignore lint/suspicious/noExplicitAny: answers of any command
const command = (method: string, params: object = {}, sessionId?: string): Promise<any> =>
  new Promise((resolve) => {
    answers.set(++commands, resolve)
    socket.send(JSON.stringify({ id: commands, method, params, sessionId }))
  })

/** Opens the game in a window of a new player. */
async function openTab(name: string) {
  const player = await platform.signUp({ name })
  const host = platform.gameHost(game.slug)
  await signInTo(player, host)
  const { browserContextId } = await command('Target.createBrowserContext')
  const { targetId } = await command('Target.createTarget', { url: 'about:blank', browserContextId, newWindow: true })
  const { sessionId } = await command('Target.attachToTarget', { targetId, flatten: true })
  const run = async (expression: string) => {
    const { result } = await command('Runtime.evaluate', { expression, returnByValue: true }, sessionId)
    return result.value
  }
  for (const [cookie, value] of player.cookiesOf(host))
    await command('Network.setCookie', { name: cookie, value, url }, sessionId)
  await command('Page.navigate', { url }, sessionId)
  while (!(await run('Boolean(window.game)'))) await sleep(50)
  return {
    read: (): Promise<Tab> => run('game.read()'),
    send: () => run('game.send()'),
    hide: () => command('Target.createTarget', { url: 'about:blank', browserContextId }),
    show: () => command('Target.activateTarget', { targetId }),
  }
}

const tabs: Awaited<ReturnType<typeof openTab>>[] = []
for (let index = 1; index <= PLAYERS; index++) tabs.push(await openTab(`Player ${index}`))
await sleep(1000)
const read = () => Promise.all(tabs.map((tab) => tab.read()))
const before = await read()
for (const tab of tabs) await tab.hide()
await sleep(MINUTES * 60_000)
const hidden = await read()
for (const tab of tabs) await tab.show()
await sleep(1000)
for (const tab of tabs) await tab.send()
await sleep(1000)
const after = await read()

const kept = after.filter(({ me, connected }, index) => connected && me === before[index]?.me).length
const same = after.filter(
  ({ players, host }, index) => `${players} ${host}` === `${before[index]?.players} ${before[index]?.host}`,
)
const events = hidden.flatMap((tab, index) => [...tab.events, ...(after[index] as Tab).events])
const ticks = hidden.map((tab) => tab.ticks.filter((state) => state === 'hidden').length)
console.log(`${machine()}; ${PLAYERS} tabs, hidden for ${MINUTES} minutes\n`)
console.log(`Hidden, as their pages say: ${hidden.filter(({ visibility }) => visibility === 'hidden').length}.`)
console.log(`Runs of a timer of 1 s meanwhile: ${Math.min(...ticks)} to ${Math.max(...ticks)}, of ${MINUTES * 60}.`)
console.log(`Players who kept their id: ${kept}. Pages with the same players and host: ${same.length}.`)
console.log(`Messages afterwards: ${after.flatMap(({ heard }) => heard).length} of ${PLAYERS * (PLAYERS - 1)}.`)
console.log(`Events: ${events.length === 0 ? 'none' : events.join(', ')}.`)
socket.close()
browser.kill()
await once(browser, 'exit')
rmSync(profile, { recursive: true, force: true, maxRetries: 5 })
await platform.app.close()
process.exit(0)
