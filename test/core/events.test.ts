import t, { type Test } from 'tap'
import { Events } from '../../core/events.ts'
import type { Bus } from '../../drivers/bus/interface.ts'
import local from '../../drivers/bus/local.ts'
import redis from '../../drivers/bus/redis.ts'
import { captureLog, driverContext } from '../kit/driver-context.ts'
import { needsRedis, startRedis } from '../kit/redis.ts'
import { until } from '../kit/until.ts'

declare module '../../core/events.ts' {
  interface DomainEvents {
    'test.scored': { player: string; points: number }
    'test.ended': { at: string }
  }
}

async function node(bus: Bus, name: string) {
  const { log, lines } = captureLog()
  const events = new Events(bus, log, name)
  await events.start()
  return { events, lines }
}

const localBus = async (t: Test) => {
  const bus = await local.create({}, driverContext())
  t.teardown(() => bus.close())
  return bus
}

t.test('every listener of an event hears it once, and no other event', async (t) => {
  const bus = await localBus(t)
  const { events } = await node(bus, 'one')
  const other = await node(bus, 'two')
  const received: unknown[] = []
  events.on('test.scored', (payload) => void received.push(['first', payload]))
  events.on('test.scored', (payload) => void received.push(['second', payload]))
  events.on('test.ended', (payload) => void received.push(['ended', payload]))
  await events.emit('test.scored', { player: 'ada', points: 3 })
  // The sender's own message returns over the bus before this one, and must not count again.
  await other.events.emit('test.ended', { at: 'the end' })
  await until(() => received.length > 2)
  t.same(received, [
    ['first', { player: 'ada', points: 3 }],
    ['second', { player: 'ada', points: 3 }],
    ['ended', { at: 'the end' }],
  ])
})

t.test('the emitting node hears its event before `emit` has gone out to the others', async (t) => {
  const { events } = await node(await localBus(t), 'one')
  let received = false
  events.on('test.ended', () => {
    received = true
  })
  const emitted = events.emit('test.ended', { at: 'now' })
  t.ok(received)
  await emitted
})

t.test('a listener that throws or rejects is logged and disturbs nobody', async (t) => {
  const { events, lines } = await node(await localBus(t), 'one')
  let received = 0
  events.on('test.ended', () => {
    throw new Error('thrown')
  })
  events.on('test.ended', async () => {
    throw new Error('rejected')
  })
  events.on('test.ended', () => void received++)
  await events.emit('test.ended', { at: 'now' })
  await until(() => lines().length === 2)
  t.equal(received, 1)
  t.match(lines(), [
    { level: 'error', event: 'test.ended', err: { message: 'thrown' } },
    { level: 'error', event: 'test.ended', err: { message: 'rejected' } },
  ])
})

t.test('what is no event on the bus is logged, and events after it are received', async (t) => {
  const bus = await localBus(t)
  const { events, lines } = await node(bus, 'one')
  let points = 0
  events.on('test.scored', (payload) => {
    points += payload.points
  })
  const malformed = ['', 'nonsense', 'null', '[]', '{}', '{"node":"two"}', '{"node":"two","name":7}']
  for (const message of malformed) await bus.publish('events', message)
  await bus.publish('events', '{"node":"two","name":"unknown.event","payload":{}}')
  await bus.publish('events', '{"node":"two","name":"test.scored","payload":{"player":"bob","points":2}}')
  t.equal(points, 2)
  t.equal(lines().length, malformed.length)
  t.ok(lines().every(({ level, msg }) => level === 'error' && /no event/.test(String(msg))))
})

t.test('two nodes on one Redis hear each other, and an outage loses events but no emitter', needsRedis, async (t) => {
  const server = await startRedis(t)
  const open = async () => {
    const bus = await redis.create({ url: server.url, keyPrefix: 'gameyard:' }, driverContext())
    t.teardown(() => bus.close())
    return bus
  }
  const one = await node(await open(), 'one')
  const two = await node(await open(), 'two')
  const received: Record<string, number[]> = { one: [], two: [] }
  one.events.on('test.scored', ({ points }) => void received.one?.push(points))
  two.events.on('test.scored', ({ points }) => void received.two?.push(points))

  for (let points = 1; points <= 50; points++) await one.events.emit('test.scored', { player: 'ada', points })
  await until(() => received.two?.length === 50) // The order holds per sender, not between senders.
  await two.events.emit('test.scored', { player: 'bob', points: 51 })
  await until(() => received.one?.length === 51 && received.two?.length === 51)
  const all = Array.from({ length: 51 }, (_, index) => index + 1)
  t.same(received, { one: all, two: all })

  await server.stop()
  await one.events.emit('test.scored', { player: 'ada', points: 52 })
  t.equal(received.one?.at(-1), 52, 'the emitting node hears its event, bus or no bus')
  t.match(one.lines(), [{ level: 'error', event: 'test.scored', msg: 'an event could not be sent to other nodes' }])

  await server.start()
  await until(async () => {
    await one.events.emit('test.scored', { player: 'ada', points: 53 })
    return received.two?.at(-1) === 53
  })
  t.equal(received.two?.at(-1), 53)
  t.notOk(received.two?.includes(52), 'what was missed stays missed')
})
