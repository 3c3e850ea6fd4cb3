// Rooms over a restart of the server, on every bus that does not outlive it.
import { cpSync } from 'node:fs'
import { join as joinPath } from 'node:path'
import t, { type Test } from 'tap'
import { join, type Room } from '../../../clients/browser/multiplayer.ts'
import ipc from '../../../drivers/bus/ipc.ts'
import { driverContext } from '../../kit/driver-context.ts'
import { startFaultyNetwork } from '../../kit/faulty-network.ts'
import { type Client, type Platform, startPlatform } from '../../kit/platform.ts'
import { until } from '../../kit/until.ts'
import { filesOf, upload } from '../deploy/build.ts'
import { headersOf, signInTo } from './kit.ts'
import { openPages } from './page.ts'

/** A script that counts, and continues from its snapshot. */
const COUNTER = `
  let count = 0
  export const settings = { relay: true, clientState: true }
  export function message(room, player, type) { if (type === 'count') room.send('count', ++count) }
  export const snapshot = () => count
  export const restore = (room, data) => { count = data }`

/** The same script, which takes so long for each message that some wait when the server stops. */
const SLOW_COUNTER = COUNTER.replace('{ if (type', '{ for (let at = 0; at < 100_000; at++); if (type')

/** A script that says something with each snapshot: also with the one for which the server waits at its end. */
const LAST_WORDS = `
  let count = 0
  export const settings = { relay: true }
  export function message(room, player, type) { room.send('answer', type) }
  export function snapshot(room) {
    room.send('count', ++count)
    return count
  }
  export const restore = (room, data) => { count = data }`

/** A game at an address behind which servers come and go. */
async function startGame(t: Test, bus: 'local' | 'ipc') {
  const network = await startFaultyNetwork(t)
  const address = `localhost:${network.port}`
  const folder = t.testdir()
  const start = async (name: string) => {
    const path = joinPath(folder, `${name}.sock`)
    if (bus === 'ipc') {
      // The first process at the socket keeps what is on the bus. It ends with the servers.
      const first = await ipc.create({ path }, driverContext())
      t.teardown(() => first.close())
    }
    const dataDir = joinPath(folder, name)
    const platform = await startPlatform(t, {
      listen: true,
      config: {
        dataDir,
        database: { driver: 'sqlite', file: joinPath(dataDir, 'gameyard.db') },
        secret: 'the same before and after, and long enough',
        portal: { url: `http://${address}` },
        games: { domain: address },
        // A slow machine is no reason to end a script.
        limits: { roomScriptMs: 5000, roomScriptShare: 1 },
        ...(bus === 'ipc' ? { bus: { driver: 'ipc', path } } : {}),
      },
    })
    network.target = (platform.app.server.address() as { port: number }).port
    return platform
  }
  const platform = await start('before')
  const openPage = openPages(t, network.port)
  const owner = await platform.signUp()
  const game = await platform.game(owner, { settings: { multiplayer: {} } })
  const host = platform.gameHost(game.slug)
  const enter = async (player: Client & { account: { name: string } }, roomId: string) => {
    await signInTo(player, host)
    const room = await join(roomId, { origin: openPage(headersOf(player as never, host)) })
    t.teardown(() => room.leave())
    return room
  }
  /** Starts the server again, from its folder or from a copy as it is now. */
  const restart = async (before: Platform, { isCrash }: { isCrash: boolean }) => {
    network.isRefusing = true
    if (!isCrash) await before.app.close()
    network.reset()
    const [from, to] = [joinPath(folder, 'before'), joinPath(folder, 'after')]
    cpSync(from, to, { recursive: true, filter: (path) => !isCrash || !path.includes('gameyard.db') })
    if (isCrash) await before.app.db.backup(joinPath(to, 'gameyard.db'))
    const after = await start('after')
    network.isRefusing = false
    return after
  }
  return { platform, owner, game, enter, restart }
}

const deployScript = async (platform: Platform, owner: Client, gameId: string, script = COUNTER) => {
  const program = await platform.program(owner as never)
  const files = { 'index.html': '<title>Counter</title>', 'room.js': script }
  const begun = await program.post('/api/deploy', { gameId, files: filesOf(files), room: 'room.js' })
  for (const wanted of begun.body.uploads) await upload(platform, wanted, files)
  await program.post(`/api/deploy/${begun.body.deployId}/finalize`)
}

/** Records what happens in a room. */
function record(room: Room) {
  const messages: unknown[] = []
  const events: unknown[] = []
  room.on('message', (_type, data) => messages.push(data))
  room.on('reconnected', ({ missed, dropped }) => events.push(`missed ${missed}, dropped ${dropped}`))
  for (const name of ['join', 'leave', 'host', 'state', 'left'] as const) room.on(name, () => events.push(name))
  return { messages, events }
}

for (const bus of ['local', 'ipc'] as const) {
  t.test(`${bus}: a room goes on after a restart as if nothing had been`, async (t) => {
    const { platform, owner, game, enter, restart } = await startGame(t, bus)
    await deployScript(platform, owner, game.id)
    const [ada, bob] = [await enter(await platform.signUp(), 'lobby'), await enter(await platform.signUp(), 'lobby')]
    bob.state.set('level', 4)
    bob.presence({ ready: true })
    const counted = [ada, bob].map((room) => {
      const { messages } = record(room)
      return until(() => messages.includes(2))
    })
    ada.send('count')
    ada.send('count')
    await until(() => ada.state.get('level') === 4 && ada.players[1]?.data)
    await Promise.all(counted)
    const [first, second] = [record(ada), record(bob)]
    const ids = [ada.me.id, bob.me.id]
    ada.send('n', 1)
    await restart(platform, { isCrash: false })
    ada.send('n', 2)
    await until(() => first.events.length === 1 && second.events.length === 1)
    bob.send('count')
    await until(() => first.messages.includes(3) && second.messages.includes(3))
    t.same(second.messages, [1, 2, 3])
    t.same([first.events, second.events], [['missed false, dropped 0'], ['missed false, dropped 0']])
    t.same([ada.me.id, bob.me.id, ada.host?.id, bob.state.get('level')], [...ids, ids[0], 4])
    t.same(ada.players[1]?.data, { ready: true })
  })
}

for (const bus of ['local', 'ipc'] as const) {
  t.test(`${bus}: what a script answers while the server stops is delivered once`, async (t) => {
    const { platform, owner, game, enter, restart } = await startGame(t, bus)
    await deployScript(platform, owner, game.id, SLOW_COUNTER)
    const [ada, bob] = [await enter(await platform.signUp(), 'lobby'), await enter(await platform.signUp(), 'lobby')]
    await until(() => ada.players.length === 2)
    const [first, second] = [record(ada), record(bob)]
    const counts = Array.from({ length: 20 }, (_, at) => at + 1)
    for (const _ of counts.slice(0, 10)) ada.send('count')
    const restarted = restart(platform, { isCrash: false })
    for (const _ of counts.slice(10)) ada.send('count')
    await restarted
    await until(() => first.messages.includes(20) && second.messages.includes(20))
    // Between them are the messages of the other player, which the script relays.
    const numbers = [first, second].map(({ messages }) => messages.filter((message) => typeof message === 'number'))
    t.same(numbers, [counts, counts])
    t.same([first.events, second.events], [['missed false, dropped 0'], ['missed false, dropped 0']])
  })
}

for (const bus of ['local', 'ipc'] as const) {
  t.test(`${bus}: what a script says last is delivered once`, async (t) => {
    const { platform, owner, game, enter, restart } = await startGame(t, bus)
    await deployScript(platform, owner, game.id, LAST_WORDS)
    const [ada, bob] = [await enter(await platform.signUp(), 'lobby'), await enter(await platform.signUp(), 'lobby')]
    await until(() => ada.players.length === 2)
    const heard = [ada, bob].map(record)
    const answered = (type: string) => until(() => heard.every(({ messages }) => messages.includes(type)))
    ada.send('first')
    await answered('first')
    await restart(platform, { isCrash: false })
    ada.send('second')
    await answered('second')
    for (const { messages, events } of heard) {
      const counts = messages.filter((message) => typeof message === 'number')
      // The first of them may have been before the player came in.
      const from = counts[0] as number
      t.same(
        counts,
        Array.from(counts, (_, at) => from + at),
      )
      t.same(events, ['missed false, dropped 0'])
    }
  })
}

t.test('a room is as it was a second ago after a crash, and gives no id twice', async (t) => {
  const { platform, enter, restart } = await startGame(t, 'local')
  const [ada, bob] = [await enter(await platform.signUp(), 'lobby'), await enter(await platform.signUp(), 'lobby')]
  ada.lock()
  ada.state.set('level', 4)
  await until(() => bob.state.get('level') === 4)
  const stored = () => platform.app.db.query<{ snapshot: string }>('select snapshot from room_records')
  await until(async () =>
    (await stored()).some(({ snapshot }) => snapshot.includes('"locked":true,') && snapshot.includes('"level":4')),
  )
  const { events } = record(bob)
  const after = await restart(platform, { isCrash: true })
  await until(() => events.length > 0 && ada.connected)
  t.same(events, ['missed true, dropped 0'])
  t.same([bob.me.id, bob.host?.id, bob.state.get('level')], ['p2', 'p1', 4])
  ada.lock(false)
  const eve = await until(async () => enter(await after.signUp(), 'lobby').catch(() => null))
  t.ok(Number.parseInt(eve.me.id.slice(1), 36) > 100, 'above any that the room may have given before the crash')
  t.equal(eve.state.get('level'), 4)
})

t.test('the record of a room ends with the room', async (t) => {
  const { platform, enter, game } = await startGame(t, 'local')
  const room = await enter(await platform.signUp(), 'lobby')
  const records = () => platform.app.db.query<{ id: string }>('select id from room_records')
  await until(async () => (await records()).length === 1)
  t.same(await records(), [{ id: `${game.id}/lobby` }])
  room.leave()
  await until(async () => (await records()).length === 0)
})
