import dns from 'node:dns'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer, connect as openSocket, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import redis from '../../../drivers/bus/redis.ts'
import { captureLog, driverContext } from '../../kit/driver-context.ts'
import { needsRedis, startRedis } from '../../kit/redis.ts'
import { until } from '../../kit/until.ts'
import { rejects } from './unavailable.ts'

const portOf = (url: string) => Number(new URL(url).port)

async function openBus(t: Test, url: string) {
  const { log, lines } = captureLog()
  const bus = await redis.create({ url, keyPrefix: 'gameyard:' }, driverContext({ log }))
  t.teardown(() => bus.close())
  return { bus, reasons: () => lines().flatMap(({ reason }) => (typeof reason === 'string' ? [reason] : [])) }
}

/** Connects as an administrator of the server. */
async function administer(t: Test, url: string) {
  const { createClient } = await import('redis')
  const client = await createClient({ url }).connect()
  t.teardown(() => client.close())
  return client
}

type Admin = Awaited<ReturnType<typeof administer>>

/** An address that leads new connections to one server or another, as the name of a managed Redis does. */
async function openEndpoint(t: Test, port: number) {
  const sockets = new Set<Socket>()
  const endpoint = { url: '', port }
  const server = createServer((near) => {
    const far = openSocket(endpoint.port, '127.0.0.1')
    for (const socket of [near, far]) {
      sockets.add(socket.on('error', () => {}))
      socket.once('close', () => [near, far].forEach((end) => void end.destroy()))
    }
    near.pipe(far).pipe(near)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  endpoint.url = `redis://127.0.0.1:${(server.address() as { port: number }).port}`
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return endpoint
}

t.test('after a failover the bus follows its address to the new primary', needsRedis, async (t) => {
  const [first, second] = [await startRedis(t), await startRedis(t)]
  const endpoint = await openEndpoint(t, portOf(first.url))
  const { bus, reasons } = await openBus(t, endpoint.url)
  const other = await openBus(t, endpoint.url)
  const received: string[] = []
  await bus.subscribe('rooms', (message) => void received.push(message))
  const admin = await administer(t, first.url)

  // The old primary lives on as a replica, and the connections to it stay open.
  endpoint.port = portOf(second.url)
  await admin.sendCommand(['REPLICAOF', '127.0.0.1', String(portOf(second.url))])
  await t.rejects(bus.ping(), { code: 'bus_unavailable' }, 'the health check writes')
  await until(async () => !(await rejects(bus.ping())) && !(await rejects(other.bus.increment('key', 60_000))))
  t.match(reasons(), [/READONLY/])
  t.match(other.reasons(), [/READONLY/], 'a script reports it too')

  const direct = await administer(t, second.url)
  t.equal(await direct.get('gameyard:health'), '1')
  await until(async () => (await bus.subscribers?.('rooms')) === 1)
  await other.bus.publish('rooms', 'hello')
  await until(() => received.length > 0)
  t.same(received, ['hello'], 'the subscription has moved too')
})

/** A bus on a server that is then made to refuse commands. Afterwards its address leads to another server. */
async function refusedBus(
  t: Test,
  options: string[],
  refuse: (admin: Admin, port: number) => Promise<unknown>,
  reply: RegExp,
) {
  const [first, second] = [await startRedis(t, options), await startRedis(t)]
  const endpoint = await openEndpoint(t, portOf(first.url))
  const { bus, reasons } = await openBus(t, endpoint.url)
  const received: string[] = []
  await bus.subscribe('rooms', (message) => void received.push(message))
  await refuse(await administer(t, first.url), portOf(first.url))
  await until(() => rejects(bus.ping()))
  endpoint.port = portOf(second.url)
  await until(async () => !(await rejects(bus.ping())))
  t.ok(
    reasons().some((reason) => reply.test(reason)),
    `${reasons()}`,
  )
  await until(async () => (await bus.subscribers?.('rooms')) === 1)
  await bus.publish('rooms', 'hello')
  await until(() => received.length > 0)
  t.same(received, ['hello'])
}

t.test('a replica that has lost its primary is left', needsRedis, async (t) => {
  const stale = ['--replica-serve-stale-data', 'no', '--replica-read-only', 'no']
  await refusedBus(t, stale, (admin) => admin.sendCommand(['REPLICAOF', '127.0.0.1', '1']), /MASTERDOWN/)
})

t.test('a server that loads its data is left', needsRedis, async (t) => {
  // Each key takes two milliseconds, and the server answers in between.
  const slow = ['--enable-debug-command', 'yes', '--key-load-delay', '2000']
  const load = async (admin: Admin, port: number) => {
    await admin.sendCommand(['DEBUG', 'POPULATE', '100000'])
    // It ends with the server, so no client waits for it.
    const socket = openSocket(port, '127.0.0.1', () => socket.write('DEBUG RELOAD\r\n')).on('error', () => {})
    t.teardown(() => socket.destroy())
  }
  await refusedBus(t, [...slow, '--loading-process-events-interval-bytes', '1024'], load, /LOADING/)
})

t.test('a name that leads elsewhere is followed, though the old server still takes writes', needsRedis, async (t) => {
  const [first, second] = [await startRedis(t), await startRedis(t)]
  const relay = await openEndpoint(t, portOf(first.url))
  const { lookup } = dns
  let address = '127.0.0.1'
  const answer = ((name: string, options: dns.LookupOptions, done: (...values: unknown[]) => void) => {
    if (name !== 'redis.test') return lookup(name, options as dns.LookupAllOptions, done as never)
    return options.all ? done(null, [{ address, family: 4 }]) : done(null, address, 4)
  }) as unknown as typeof lookup
  dns.lookup = answer
  t.teardown(() => {
    dns.lookup = lookup
  })
  // Loopback's other addresses lead to no listener, so the relay stands for the machine that the name leads to.
  const { bus, reasons } = await openBus(t, relay.url.replace('127.0.0.1', 'redis.test'))
  await bus.ping()
  await bus.ping()
  t.same(reasons(), [])

  address = '127.0.0.2'
  await bus.ping()
  t.same(reasons(), [], 'a single answer may be one of several')
  address = '127.0.0.1'
  await bus.ping()
  address = '127.0.0.2'
  relay.port = portOf(second.url)
  await bus.ping()
  await bus.ping().catch(() => {})
  t.match(reasons(), [/another address/])
  address = '127.0.0.1'
  await until(async () => !(await rejects(bus.ping())))
  t.equal(await (await administer(t, second.url)).exists('gameyard:health'), 1)
})

t.test('a server that is no primary stops the start with a sentence', needsRedis, async (t) => {
  const start = (url: string) => redis.create({ url, keyPrefix: '' }, driverContext())
  const replica = await startRedis(t, ['--replicaof', '127.0.0.1 1'])
  await t.rejects(start(replica.url), { name: 'StartupError', message: /takes no writes: READONLY/ })
  const cluster = await startRedis(t, ['--cluster-enabled', 'yes'])
  await t.rejects(start(cluster.url), { name: 'StartupError', message: /Redis Cluster, which is not supported/ })
  const file = join(t.testdir(), 'sentinel.conf')
  await writeFile(file, '')
  const sentinel = await startRedis(t, ['--sentinel'], file)
  await t.rejects(start(sentinel.url), { name: 'StartupError', message: /Sentinel, which is not supported/ })
  for (const url of ['redis+sentinel://127.0.0.1:26379/primary', 'redis+cluster://127.0.0.1:6379'])
    await t.rejects(start(url), { name: 'StartupError', message: /Sentinel or of a Redis Cluster are not supported/ })
})
