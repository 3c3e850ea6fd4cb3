/**
 * Counts what a room loses or doubles while its network fails: two players with the real client send ten messages a second
 * to each other, behind a TCP proxy that resets, swallows and delays, and a server that is restarted in between.
 *
 *     npx node bench/room-cuts.ts
 *
 * CUTS (1000), RESTARTS among them (20); GAMEYARD_SEED repeats a run.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join as joinPath } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { join, type Room } from '../clients/browser/multiplayer.ts'
import { startFaultyNetwork } from '../test/kit/faulty-network.ts'
import { type Platform, startPlatform } from '../test/kit/platform.ts'
import { SEED } from '../test/kit/seed.ts'
import { headersOf, signInTo } from '../test/plugins/multiplayer/kit.ts'
import { openPages } from '../test/plugins/multiplayer/page.ts'
import { machine } from './servers.ts'

const CUTS = Number(process.env.CUTS ?? 1000)
const RESTARTS = Number(process.env.RESTARTS ?? 20)
const SEND_MS = 100
const folder = mkdtempSync(joinPath(tmpdir(), 'gameyard-cuts-'))
const t = { teardown() {} } as unknown as Test

let last = (SEED % 2_147_483_646) + 1
/** Returns a number from 0 to 1, the same ones for the same seed. */
const random = () => {
  last = (last * 48_271) % 2_147_483_647
  return last / 2_147_483_647
}

const network = await startFaultyNetwork(t)
const address = `localhost:${network.port}`
let platform: Platform
const start = async () => {
  const started = await startPlatform(t, {
    listen: true,
    config: {
      dataDir: folder,
      database: { driver: 'sqlite', file: joinPath(folder, 'gameyard.db') },
      secret: 'the same before and after, and long enough',
      portal: { url: `http://${address}` },
      games: { domain: address },
    },
  })
  network.target = (started.app.server.address() as { port: number }).port
  return started
}
platform = await start()
setInterval(() => platform.clock.advance(50), 50)

const game = await platform.game(await platform.signUp(), { settings: { multiplayer: {} } })
const host = platform.gameHost(game.slug)
const openPage = openPages(t, network.port)
const enter = async (name: string) => {
  const player = await platform.signUp({ name })
  await signInTo(player, host)
  const room = await join('lobby', { origin: openPage(headersOf(player, host)), giveUpAfterMs: 600_000 })
  const heard: number[] = []
  const came = { reconnections: 0, missed: 0, dropped: 0 }
  room.on('message', (_type, data) => void heard.push(data as number))
  room.on('reconnected', ({ missed, dropped }) => {
    came.reconnections++
    if (missed) came.missed++
    came.dropped += dropped
  })
  room.on('left', (reason) => {
    if (reason === 'left') return
    console.error(`${name} left: ${reason}`)
    process.exit(1)
  })
  return { name, room, heard, came }
}
const players = [await enter('Ada'), await enter('Bob')]
const isBack = (rooms: Room[]) => rooms.every((room) => room.connected)

let said = 0
const talking = setInterval(() => {
  said++
  for (const { room } of players) room.send('n', said)
}, SEND_MS)

const began = performance.now()
const counts = { reset: 0, silence: 0, delay: 0, restart: 0 }
const every = Math.floor(CUTS / RESTARTS)
for (let cut = 1; cut <= CUTS; cut++) {
  if (cut % every === 0) {
    counts.restart++
    const now = platform.clock.now().getTime()
    network.isRefusing = true
    await platform.app.close()
    network.reset()
    platform = await start()
    platform.clock.advance(now - platform.clock.now().getTime())
    network.isRefusing = false
  } else {
    const kind = (['reset', 'silence', 'delay'] as const)[Math.floor(random() * 3)] ?? 'reset'
    counts[kind]++
    network.isSwallowing = kind === 'silence'
    network.delayMs = kind === 'delay' ? 20 + random() * 300 : 0
    await sleep(random() * 400)
    network.reset()
    network.isSwallowing = false
    network.delayMs = 0
  }
  // Some cuts hit the clients while they reconnect.
  const rooms = players.map(({ room }) => room)
  if (random() < 0.7) while (!isBack(rooms)) await sleep(10)
}
clearInterval(talking)
for (const deadline = performance.now() + 60_000; performance.now() < deadline; await sleep(50)) {
  if (players.every(({ heard }) => heard.length >= said)) break
}
// What is doubled may arrive after the last.
await sleep(2000)

const seconds = Math.round((performance.now() - began) / 1000)
console.log(`${machine()}; seed ${SEED}; ${CUTS} cuts in ${seconds} s: ${JSON.stringify(counts)}\n`)
console.log('| to | sent | arrived | lost | doubled | out of order | reconnections | `missed` |')
console.log('|---|---:|---:|---:|---:|---:|---:|---:|')
for (const { name, heard, came } of players) {
  const distinct = new Set(heard)
  const disorder = heard.filter((number, index) => index > 0 && number <= (heard[index - 1] as number)).length
  const cells = [said, heard.length, said - distinct.size, heard.length - distinct.size, disorder]
  console.log(`| ${[name, ...cells, came.reconnections, came.missed].join(' | ')} |`)
}
for (const { room } of players) room.leave()
await platform.app.close()
rmSync(folder, { recursive: true, force: true })
process.exit(0)
