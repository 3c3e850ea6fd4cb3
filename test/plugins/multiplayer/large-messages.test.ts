// The largest messages and values of the state, both ways, on one node and over every bus.
import { join as joinPath } from 'node:path'
import t, { type Test } from 'tap'
import { join, type Room } from '../../../clients/browser/multiplayer.ts'
import type { Bus } from '../../../core/events.ts'
import ipc from '../../../drivers/bus/ipc.ts'
import local from '../../../drivers/bus/local.ts'
import redis from '../../../drivers/bus/redis.ts'
import { SocketRelay } from '../../../plugins/multiplayer/nodes/socket-relay.ts'
import type { Member } from '../../../plugins/multiplayer/room/member.ts'
import { driverContext } from '../../kit/driver-context.ts'
import { startPlatform } from '../../kit/platform.ts'
import { needsRedis, startRedis } from '../../kit/redis.ts'
import { until } from '../../kit/until.ts'
import { headersOf, RoomSocket, SilentLink, signInTo } from './kit.ts'
import { openPages } from './page.ts'
import { makeRoom } from './room-kit.ts'
import { startScripts } from './scripts/kit.ts'

const KIB = 1024
const MESSAGE = 64 * KIB
const STATE = 256 * KIB
/** The most bytes of one message on a bus (core/events.ts). */
const MOST_ON_BUS = 1024 * KIB

/** A text with which a message `{ t: 'send', type: 'm', data }` has so many bytes. */
const dataOf = (bytes: number) => 'x'.repeat(bytes - JSON.stringify({ t: 'send', type: 'm', data: '' }).length)

/** A value that fills the state alone, under a key of one character. 16 bytes count for a key. */
const LARGEST_VALUE = 'v'.repeat(STATE - 1 - 16 - 2)

/** A game with two players. */
async function startGame(t: Test) {
  const platform = await startPlatform(t, { listen: true })
  const owner = await platform.signUp()
  const game = await platform.game(owner, { settings: { multiplayer: {} } })
  const host = platform.gameHost(game.slug)
  const openPage = openPages(t, (platform.app.server.address() as { port: number }).port)
  const players = [await platform.signUp({ name: 'Ada' }), await platform.signUp({ name: 'Bob' })] as const
  for (const player of players) await signInTo(player, host)
  const enter = async (player: (typeof players)[0]) => {
    const room = await join('lobby', { origin: openPage(headersOf(player, host)) })
    t.teardown(() => room.leave())
    return { room, ...record(room) }
  }
  const open = (player: (typeof players)[0]) => new RoomSocket(t, platform, '/mp/rooms/other', headersOf(player, host))
  return { platform, players, enter, open }
}

function record(room: Room) {
  const sizes: number[] = []
  const errors: unknown[] = []
  room.on('message', (_type, data) => sizes.push((data as string).length))
  room.on('binary', (bytes) => sizes.push(bytes.length))
  room.on('error', ({ code, limit }) => errors.push([code, limit]))
  return { sizes, errors }
}

t.test('the largest messages and values arrive both ways, and larger ones are not sent', async (t) => {
  const { players, enter } = await startGame(t)
  const [ada, bob] = [await enter(players[0]), await enter(players[1])]
  for (const [from, to] of [
    [ada, bob],
    [bob, ada],
  ] as const) {
    const data = dataOf(MESSAGE)
    from.room.send('m', data)
    from.room.sendBinary(new ArrayBuffer(MESSAGE))
    from.room.send('m', `${data}x`)
    from.room.sendBinary(new ArrayBuffer(MESSAGE + 1))
    t.same(from.errors.splice(0), Array(2).fill(['too_large', MESSAGE]))
    const value = from === ada ? LARGEST_VALUE : LARGEST_VALUE.toUpperCase()
    from.room.state.set('k', value)
    from.room.state.set('k', 'x'.repeat(STATE + MESSAGE))
    t.same(from.errors.splice(0), [['too_large', STATE + MESSAGE]])
    from.room.state.set('k', `${value}x`)
    await until(() => from.errors.length > 0)
    t.same(from.errors.splice(0), [['state_too_large', undefined]], 'the server knows what else is in the state')
    await until(() => to.room.state.get('k') === value)
    t.same(to.sizes, [data.length, MESSAGE])
  }
  ada.room.leave()
  const again = await enter(players[0])
  t.equal(again.room.state.get('k'), LARGEST_VALUE.toUpperCase(), 'who joins later gets the state')
})

t.test('a frame counts as a message for each 16 KiB, and what is larger closes with 1009', async (t) => {
  const { players, open } = await startGame(t)
  const [ada, bob] = players
  const witness = open(bob)
  await witness.enter()
  const state = (length: number) => JSON.stringify({ t: 'state', set: { k: 'x'.repeat(length) } })
  const attacks: [string, string | Buffer][] = [
    ['a text', 'x'.repeat(MESSAGE + 1)],
    ['bytes', Buffer.alloc(MESSAGE + 1)],
    ['a message as large as a state', JSON.stringify({ t: 'send', type: 'm', data: 'x'.repeat(STATE) })],
    ['presence as large as a state', JSON.stringify({ t: 'presence', data: 'x'.repeat(STATE) })],
    ['no JSON', `{"t":"state","set":{"k":"${'x'.repeat(STATE)}`],
    ['a state beyond all limits', state(STATE + MESSAGE)],
    ['three bytes a character', JSON.stringify({ t: 'send', type: 'm', data: '€'.repeat(MESSAGE / 3) })],
  ]
  for (const [name, frame] of attacks) {
    const socket = open(ada)
    await socket.enter()
    socket.socket.send(frame)
    t.equal(await socket.closed, 1009, name)
    t.match(await witness.next('leave'), { reason: 'closed' })
  }

  // The clock of the platform stands still, so nothing is added to the burst of 120.
  for (const [name, frame, count] of [
    ['of 64 KiB', Buffer.alloc(MESSAGE), 30],
    ['of 64 KiB as text', JSON.stringify({ t: 'send', type: 'm', data: dataOf(MESSAGE) }), 30],
    ['that write the state', state(STATE - 100), 7],
  ] as const) {
    const socket = open(ada)
    await socket.enter()
    for (let sent = 0; sent <= count; sent++) socket.socket.send(frame)
    t.equal(await socket.closed, 1008, name)
    await witness.next('leave')
    const taken = witness.received.splice(0).filter((one) => ['msg', 'binary', 'state'].includes(one.t))
    t.equal(taken.length, count, `${count} frames ${name}`)
  }
})

t.test('a small burst still takes the largest frames', async (t) => {
  const { room, clock, enter } = makeRoom({ frameBytes: MESSAGE, stateBytes: STATE, messageBurst: 4 })
  const ada = enter('ada')
  for (const value of [LARGEST_VALUE, LARGEST_VALUE]) ada.say({ t: 'state', set: { k: value } })
  t.equal(ada.connection.closed, null)
  clock.advance(1000)
  ada.say({ t: 'state', set: { k: LARGEST_VALUE } })
  t.equal(room.stateVersion, 3)
})

t.test('large frames are acknowledged earlier, so that a client need not wait', async (t) => {
  const { room, enter } = makeRoom({ frameBytes: MESSAGE })
  const ada = enter('ada', true)
  for (let count = 0; count < 16; count++) room.receiveBinary(ada.member, Buffer.alloc(MESSAGE))
  t.same(
    ada.connection.take().flatMap(({ t: type, taken }) => (type === 'ack' ? [taken] : [])),
    [15],
  )
})

t.test('a room with a script takes frames of 16 KiB, since their parsing cannot be interrupted', async (t) => {
  const { open, enter } = startScripts(t, { limits: { roomFrameBytes: MESSAGE } })
  const hosted = await open('export const settings = { relay: true, clientState: true }')
  const [ada, bob] = [await enter(hosted), await enter(hosted)]
  t.match(await ada.next('welcome'), { limits: { frameBytes: 16 * KIB, stateFrameBytes: 16 * KIB } })
  ada.say({ t: 'state', set: { k: 'x'.repeat(15 * KIB) } })
  await bob.next('state')
  ada.say({ t: 'state', set: { k: 'x'.repeat(16 * KIB) } })
  t.match(await ada.end(), { code: 1009 })
})

const BUSES: Record<string, { options: object; open: (t: Test) => Promise<() => Promise<Bus>> }> = {
  local: {
    options: {},
    open: async () => {
      const bus = await local.create({}, driverContext())
      return async () => bus
    },
  },
  ipc: {
    options: {},
    open: async (t) => {
      const path = joinPath(t.testdir(), 'bus.sock')
      return () => ipc.create({ path }, driverContext())
    },
  },
  redis: {
    options: needsRedis,
    open: async (t) => {
      const { url } = await startRedis(t)
      return () => redis.create({ url, keyPrefix: 'gameyard:' }, driverContext())
    },
  },
}

for (const [name, { options, open }] of Object.entries(BUSES)) {
  t.test(`${name}: the largest frames pass the bus below its limit, and a whole replay`, options, async (t) => {
    const connect = await open(t)
    let largest = 0
    const limits = { roomFrameBytes: MESSAGE }
    const start = async () => {
      const bus = await connect()
      t.teardown(() => bus.close())
      const publish = bus.publish.bind(bus)
      bus.publish = (channel, message) => {
        largest = Math.max(largest, Buffer.byteLength(message))
        return publish(channel, message)
      }
      const { rooms } = startScripts(t, { limits })
      const relay = new SocketRelay(bus, rooms, driverContext().log)
      await relay.nodes.start()
      t.teardown(() => relay.nodes.stop())
      return { rooms, relay, id: relay.nodes.id }
    }
    const [host, other] = [await start(), await start()]
    const { room } = host.rooms.open('game', 'lobby', { maxPlayers: 10, hostPatienceSeconds: 5 })
    const account = (sub: string) => ({ sub, name: sub, imageUrl: null, guest: false })
    const enter = (sub: string, resume: { token: string; received: number } | null = null) => {
      const link = new SilentLink()
      const join = { gameId: 'game', roomId: 'lobby', account: account(sub), resume }
      return { link, membership: other.relay.join(host.id, join, link) }
    }
    const [ada, bob] = [enter('ada'), enter('bob')]
    await until(() => ada.link.received.length > 0 && bob.link.received.length > 0)
    const { resume: token } = bob.link.received[0]
    const heard = (type: string) => bob.link.received.filter((frame) => frame.t === type)

    // What one envelope can't carry: control characters, quotes, characters of three bytes, halves of pairs.
    const control = '\u0001'.repeat(10 * KIB)
    const mixed = '"\\€\u{1f3ae}'.repeat(5 * KIB)
    ada.membership.text(control + control + control + control + control + control)
    ada.membership.text(JSON.stringify({ t: 'send', type: 'm', data: control }))
    ada.membership.text(JSON.stringify({ t: 'send', type: 'm', data: mixed }))
    const states = ['\u0001'.repeat(STATE / 6 - 10), '"'.repeat(STATE / 2 - 10), '\u{1f3ae}'.repeat(STATE / 4 - 10)]
    for (const value of states) ada.membership.text(JSON.stringify({ t: 'state', set: { k: value } }))
    ada.membership.bytes(Buffer.alloc(MESSAGE, 'b'))
    await until(() => heard('binary').length > 0)
    t.same(
      ada.link.received.filter((frame) => frame.t === 'error').map(({ code }) => code),
      ['invalid_message'],
    )
    t.same(
      heard('msg').map(({ data }) => [data === control, data === mixed]),
      [
        [true, false],
        [false, true],
      ],
    )
    t.ok(heard('state').every(({ set }, index) => set.k === states[index]) && heard('state').length === 3)
    t.equal(heard('binary')[0].bytes, 'b'.repeat(MESSAGE))

    const letter = (index: number) => String.fromCharCode('a'.charCodeAt(0) + index)
    // A player who comes back gets as much as a room keeps, in order, after a welcome with the largest state.
    const received = bob.link.received.length - 1
    bob.membership.end('lost')
    for (let count = 0; count < 15; count++)
      ada.membership.text(JSON.stringify({ t: 'send', type: letter(count), data: dataOf(MESSAGE) }))
    await until(() => (room.members.byId.get('p1') as Member).taken === 22)
    const again = enter('bob', { token, received })
    await until(() => again.link.received.length > 15)
    t.match(again.link.received[0], { t: 'welcome', replay: 15 })
    t.same(
      again.link.received.slice(1).map(({ type }) => type),
      Array.from({ length: 15 }, (_, index) => letter(index)),
    )
    ada.membership.text(JSON.stringify({ t: 'send', type: 'after', data: 'x'.repeat(STATE) }))
    await until(() => ada.link.closed === 1009)
    t.ok(largest < MOST_ON_BUS, `${largest} bytes at once`)
    t.equal(again.link.closed, null)
  })
}
