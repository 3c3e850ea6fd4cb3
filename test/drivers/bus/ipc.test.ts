import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { testBusDriver } from '../../../drivers/bus/conformance.ts'
import { addressOf } from '../../../drivers/bus/ipc/address.ts'
import ipc from '../../../drivers/bus/ipc.ts'
import { captureLog, driverContext } from '../../kit/driver-context.ts'
import { until } from '../../kit/until.ts'
import { endWithParent } from '../../kit/watchdog.ts'
import { failsAtOnce, rejects, unavailable } from './unavailable.ts'

const openIn = (dataDir: string, log = captureLog().log) =>
  ipc.create({ path: 'bus.sock' }, driverContext({ dataDir, log }))

const suite = t.testdir()
testBusDriver({ name: 'ipc', create: () => openIn(suite), supports: { shared: true } })

/** The first bus of a folder is the hub; here it is a process of its own, which a test can kill or freeze. */
async function startHub(t: Test, dataDir: string): Promise<ChildProcess> {
  const program = `
    import { addressOf } from ${JSON.stringify(import.meta.resolve('../../../drivers/bus/ipc/address.ts'))}
    import { Hub } from ${JSON.stringify(import.meta.resolve('../../../drivers/bus/ipc/hub.ts'))}
    if (!(await Hub.open(await addressOf(${JSON.stringify(dataDir)}, 'bus.sock')))) throw new Error('There is a hub.')
    console.log('ready')`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  endWithParent(child)
  t.teardown(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return child
}

t.test('when the hub is killed another process takes over, and the bus goes on', async (t) => {
  const folder = t.testdir()
  const hub = await startHub(t, folder)
  const { log, lines } = captureLog()
  const [one, two] = [await openIn(folder, log), await openIn(folder, log)]
  const buses = [one, two]
  t.teardown(() => Promise.all(buses.map((bus) => bus.close())))
  const received: string[] = []
  await two.subscribe('deploys', (message) => void received.push(message))
  await one.publish('deploys', 'before')
  await until(() => received.length === 1)
  const { fence } = await one.acquire('room', 'ada')

  hub.kill('SIGKILL')
  await once(hub, 'exit')
  await until(async () => !(await rejects(one.ping())) && !(await rejects(two.ping())))
  t.equal(lines().filter(({ hub }) => hub === true).length, 1, 'one of the two is the hub')
  await one.publish('deploys', 'after')
  await until(() => received.length === 2)
  t.same(received, ['before', 'after'], 'and subscriptions are still there')
  t.ok((await two.acquire('room', 'bob')).fence > fence, 'a lease that is taken again has a greater fence')

  await one.close()
  await t.resolves(two.publish('deploys', 'last'), 'a hub that ends in order is replaced at once')
})

t.test('a hub that hangs is given up within a second and used again when it answers', async (t) => {
  const folder = t.testdir()
  const hub = await startHub(t, folder)
  const bus = await openIn(folder)
  t.teardown(() => bus.close())
  hub.kill('SIGSTOP')
  await t.rejects(bus.increment('hang', 60_000), unavailable)
  await failsAtOnce(t, () => bus.increment('hang', 60_000))
  const received: string[] = []
  const subscribed = bus.subscribe('late', (message) => void received.push(message))
  await t.rejects(bus.ping(), unavailable)
  hub.kill('SIGCONT')
  await t.resolves(subscribed, 'a process that starts meanwhile waits for the hub')
  await until(async () => !(await rejects(bus.publish('late', 'hello'))))
  await until(() => received.length > 0)
  t.equal(received[0], 'hello')
  await until(async () => !(await rejects(bus.ping())))
  t.ok((await bus.increment('hang', 60_000)).count >= 1)
})

t.test('a folder with a long name has a hub too', { skip: process.platform !== 'linux' && 'Linux' }, async (t) => {
  const folder = join(t.testdir(), 'long-'.repeat(30))
  mkdirSync(folder)
  const [one, two] = [await openIn(folder), await openIn(folder)]
  t.teardown(() => Promise.all([one.close(), two.close()]))
  const received: string[] = []
  await two.subscribe('deploys', (message) => void received.push(message))
  await one.publish('deploys', 'far away')
  await until(() => received.length === 1)
  await t.rejects(addressOf(folder, 'bus.sock', 'darwin'), { name: 'StartupError', message: /set bus\.path/ })
  t.match(await addressOf(folder, 'bus.sock', 'win32'), { path: /^\\\\\.\\pipe\\gameyard-/, lockFile: null })
})

t.test('a place where no socket can be made stops the start with a sentence', async (t) => {
  const bus = ipc.create({ path: 'missing/bus.sock' }, driverContext({ dataDir: t.testdir() }))
  await t.rejects(bus, { name: 'StartupError', message: /^The socket .+missing\/bus\.sock of the bus can't be used/ })
})
