import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Bus } from '../../../core/events.ts'
import local from '../../../drivers/bus/local.ts'
import type { RoomStore } from '../../../plugins/multiplayer/hosting/hosted-room.ts'
import type { NodeMessage } from '../../../plugins/multiplayer/nodes/messages.ts'
import { Ownership } from '../../../plugins/multiplayer/nodes/ownership.ts'
import { Peers } from '../../../plugins/multiplayer/nodes/peers.ts'
import { SocketRelay } from '../../../plugins/multiplayer/nodes/socket-relay.ts'
import type { Change } from '../../../plugins/multiplayer/room/snapshot.ts'
import { driverContext } from '../../kit/driver-context.ts'
import { until } from '../../kit/until.ts'
import { SilentLink } from './kit.ts'
import { startScripts } from './scripts/kit.ts'

const { log } = driverContext()

/** Starts nodes on one bus in this process. Each records what it receives. */
async function startPeers(t: Test, bus: Bus, count: number) {
  const nodes = Array.from({ length: count }, () => {
    const received: NodeMessage[] = []
    const lost: string[] = []
    const peers = new Peers(bus, log, {
      receive: (_from, message) => received.push(message),
      disconnected: (node) => lost.push(node),
    })
    return { peers, received, lost }
  })
  for (const { peers } of nodes) {
    await peers.start()
    t.teardown(() => peers.stop())
  }
  return nodes as [(typeof nodes)[0], (typeof nodes)[0], (typeof nodes)[0]]
}

const accountOf = (sub: string) => ({ sub, name: sub, imageUrl: null, guest: false })

t.test('frames reach the sockets that they are for, and no other, on any number of nodes', async (t) => {
  const bus = await local.create({}, driverContext())
  const [host, one, two] = await startPeers(t, bus, 3)
  const own = Buffer.from('the welcome of the first')
  const common = Buffer.from('for all others')
  host.peers.write(one.peers.id, 'a', own)
  host.peers.write(two.peers.id, 'b', common)
  host.peers.write(one.peers.id, 'c', common)
  host.peers.write(two.peers.id, 'd', common)
  host.peers.write(one.peers.id, 'e', common)
  await until(() => one.received.length > 0 && two.received.length > 0)
  const text = (message: NodeMessage) =>
    message.t === 'write' && [message.to, Buffer.from(message.frames, 'base64').toString()]
  t.same(one.received.map(text), [
    [['a'], 'the welcome of the first'],
    [['c', 'e'], 'for all others'],
  ])
  t.same(two.received.map(text), [[['b', 'd'], 'for all others']])
})

t.test('a node that stood still for a while does not take the others for failed', async (t) => {
  const bus = await local.create({}, driverContext())
  const [one, two] = await startPeers(t, bus, 2)
  await until(() => one.peers.ids.length === 1 && two.peers.ids.length === 1)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2800)
  await sleep(600)
  t.same([one.lost, two.lost], [[], []])
})

t.test(
  'whoever notices a disconnection tells the other node, so that no socket stays deaf and no player a ghost',
  async (t) => {
    const bus = await local.create({}, driverContext())
    const start = async () => {
      const { rooms } = startScripts(t)
      const relay = new SocketRelay(bus, rooms, log)
      await relay.nodes.start()
      t.teardown(() => relay.nodes.stop())
      return { rooms, relay, id: relay.nodes.id }
    }
    const [host, other] = [await start(), await start()]
    for (const [noticing, missing] of [
      [host, other],
      [other, host],
    ] as const) {
      const roomId = noticing === host ? 'one' : 'two'
      const { room } = host.rooms.open('game', roomId, { maxPlayers: 10, hostPatienceSeconds: 5 })
      const link = new SilentLink()
      other.relay.join(host.id, { gameId: 'game', roomId, account: accountOf('ada'), resume: null }, link)
      await until(() => link.received.length > 0)
      noticing.relay.disconnected(missing.id)
      await until(() => link.closed === 1012)
      await until(() => room.members.people[0]?.away === true)
      t.pass(roomId)
    }
  },
)

t.test('whoever enters a room while several empty ones are released gets one that is stored', async (t) => {
  const bus = await local.create({}, driverContext())
  const held = Promise.withResolvers<void>()
  const slow: Bus = {
    ...bus,
    release: (key, holder) => held.promise.then(() => bus.release(key, holder)),
  }
  const [{ peers }] = await startPeers(t, slow, 1)
  const { rooms } = startScripts(t)
  const ownership = new Ownership(slow, peers, rooms, null)
  const released: Promise<void>[] = []
  rooms.onEnded = (hosted) => released.push(ownership.release([hosted]))
  const enter = (roomId: string) =>
    ownership.find({ scope: 'game', roomId, maxPlayers: 10, hostPatienceSeconds: 5, script: async () => null })
  for (const name of ['first', 'second']) {
    const hosted = await enter(name)
    if (typeof hosted !== 'string') hosted.unreserve()
  }
  rooms.sweep()
  t.equal(released.length, 2)
  const entered = enter('second')
  await turn()
  held.resolve()
  await Promise.all(released)
  t.equal(await entered, rooms.find('game', 'second'))
  t.ok(await bus.load('room/game/second'), 'another node can continue it')
  t.equal(await bus.load('room/game/first'), null)
})

t.test('a lock is stored, although nobody is told of it', async (t) => {
  const stored: Change[] = []
  let answer: PromiseWithResolvers<boolean> | null = null
  const store: RoomStore = {
    lease: 'held',
    fence: 1,
    save: async () => true,
    append: (texts) => {
      stored.push(...texts.map((text) => JSON.parse(text)))
      return answer?.promise ?? Promise.resolve(true)
    },
  }
  const { rooms } = startScripts(t)
  const { room } = rooms.open('game', 'lobby', { maxPlayers: 10, hostPatienceSeconds: 5, store })
  const ada = room.join(accountOf('ada'), new SilentLink())
  await until(() => stored.length === 1)
  const lock = (locked: boolean) => room.receive(ada, JSON.stringify({ t: 'lock', locked }))
  lock(true)
  await until(() => stored.length === 2)
  t.match(stored[1], { roster: { locked: true } })
  answer = Promise.withResolvers()
  room.receive(ada, JSON.stringify({ t: 'state', set: { a: 1 } }))
  await until(() => stored.length === 3)
  lock(false)
  answer.resolve(true)
  await until(() => stored.length === 4)
  t.match(stored[3], { roster: { locked: false } }, 'also while the room waits for the bus')
})
