import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { testBusDriver } from '../../../drivers/bus/conformance.ts'
import redis from '../../../drivers/bus/redis.ts'
import { captureLog, driverContext } from '../../kit/driver-context.ts'
import { needsRedis, type RedisServer, startRedis } from '../../kit/redis.ts'
import { until } from '../../kit/until.ts'
import { failsAtOnce, rejects, unavailable } from './unavailable.ts'

if (!needsRedis.skip) {
  let server: Promise<RedisServer> | undefined
  testBusDriver({
    name: 'redis',
    async create() {
      server ??= startRedis(t)
      return redis.create({ url: (await server).url, keyPrefix: 'gameyard:' }, driverContext())
    },
    supports: { shared: true },
  })
}

t.test('the redis bus', needsRedis, async (t) => {
  const server = await startRedis(t)
  const open = async (t: Test, { url = server.url, keyPrefix = 'gameyard:', log = captureLog().log } = {}) => {
    const bus = await redis.create({ url, keyPrefix }, driverContext({ log }))
    t.teardown(() => bus.close())
    return bus
  }

  await t.test('installations with different prefixes share one server without meeting', async (t) => {
    const [one, two] = [await open(t, { keyPrefix: 'one:' }), await open(t, { keyPrefix: 'two:' })]
    const received: string[] = []
    await two.subscribe('channel', (message) => void received.push(message))
    await one.publish('channel', 'from one')
    await two.publish('channel', 'from two')
    await until(() => received.length > 0)
    t.same(received, ['from two'])
    await one.increment('key', 1000)
    t.equal((await two.increment('key', 1000)).count, 1)
  })

  await t.test('after the server was restarted it hears its channels and counts again', async (t) => {
    const { log, lines } = captureLog()
    const [bus, other] = [await open(t, { log }), await open(t)]
    const received: string[] = []
    await bus.subscribe('deploys', (message) => void received.push(message))
    await other.publish('deploys', 'before')
    await until(() => received.length === 1)
    await bus.increment('visits', 60_000)

    await server.stop()
    const losses = () => lines().filter(({ level }) => level === 'error')
    await until(() => losses().length === 2)
    await failsAtOnce(t, () => bus.publish('deploys', 'lost'))
    await failsAtOnce(t, () => bus.increment('visits', 60_000))
    await failsAtOnce(t, () => bus.subscribe('more', () => {}))
    await failsAtOnce(t, () => bus.ping())

    await sleep(500) // Some attempts to connect fail.
    await server.start()
    await until(async () => !(await rejects(bus.ping())) && !(await rejects(other.ping())))
    await other.publish('deploys', 'after')
    await until(() => received.length === 2)
    t.same(received, ['before', 'after'], 'nothing that failed arrives late')
    t.equal((await bus.increment('visits', 60_000)).count, 1)
    await bus.subscribe('more', (message) => void received.push(message))
    await other.publish('more', 'new channel')
    await until(() => received.length === 3)
    t.same(received.at(-1), 'new channel')

    t.equal(losses().length, 2, 'the log has a line for each connection, not for each attempt')
    t.match(lines().at(-1), { level: 'info', msg: /is available again/ })
  })

  await t.test('a server that hangs is given up within a second and used again when it answers', async (t) => {
    const { log, lines } = captureLog()
    const bus = await open(t, { log })
    await bus.ping()
    server.freeze()
    await t.rejects(bus.increment('hang', 60_000), unavailable)
    t.same(lines(), [], 'before the connection is given up')
    await failsAtOnce(t, () => bus.increment('hang', 60_000))
    server.thaw()
    await until(async () => !(await rejects(bus.ping())))
  })

  await t.test('a connection that has gone silent for good is replaced', async (t) => {
    const { log, lines } = captureLog()
    const bus = await open(t, { log })
    const received: string[] = []
    await bus.subscribe('silent', (message) => void received.push(message))
    server.freeze()
    // The server stops answering pings.
    await until(async () => lines().length > 1)
    t.match(
      lines()
        .map(({ connection }) => connection)
        .sort(),
      ['commands', 'subscriber'],
      'both connections were given up',
    )
    server.thaw()
    await until(async () => !(await rejects(bus.ping())))
    await bus.publish('silent', 'hello again')
    await until(() => received.length > 0)
    t.same(received, ['hello again'])
  })

  await t.test('a counter that lost its expiry gets one instead of locking its key for ever', async (t) => {
    const bus = await open(t)
    const { createClient } = await import('redis')
    const client = await createClient({ url: server.url }).connect()
    t.teardown(() => client.close())
    await client.set('gameyard:stuck', '41')
    t.same(await bus.increment('stuck', 60_000), { count: 42, resetMs: 60_000 })
    t.ok((await client.pTTL('gameyard:stuck')) > 0)
  })

  await t.test('a wrong address or password stops the start with a sentence that shows no secret', async (t) => {
    const start = (url: string) => redis.create({ url, keyPrefix: '' }, driverContext())
    await t.rejects(start('http://localhost'), { name: 'StartupError', message: /^bus\.url is no Redis address/ })
    for (const url of ['redis://me:hunter2@127.0.0.1:1', server.url.replace('//', '//me:hunter2@')]) {
      const error = await start(url).then(
        () => null,
        (error) => error,
      )
      t.match(error, { name: 'StartupError', message: /^The Redis bus at 127\.0\.0\.1:\d+ can't be used/ })
      t.notMatch(error.message, /hunter2/)
    }
  })
})
