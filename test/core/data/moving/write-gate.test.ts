// A process that stops writing while a move takes its last step.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { WriteGate } from '../../../../core/data/moving/write-gate.ts'
import {
  ANSWER_CHANNEL,
  answerInFolder,
  BusChannel,
  FolderChannel,
  REQUEST,
  STOP_CHANNEL,
  STOP_FOLDER,
  StopSender,
} from '../../../../core/data/moving/write-stop.ts'
import type { Bus } from '../../../../drivers/bus/interface.ts'
import redis from '../../../../drivers/bus/redis.ts'
import { driverContext } from '../../../kit/driver-context.ts'
import { startPlatform } from '../../../kit/platform.ts'
import { needsRedis, startRedis } from '../../../kit/redis.ts'
import { until } from '../../../kit/until.ts'
import { log, newPlace, openPlace } from './places.ts'

t.test('a platform refuses changes while a move asks for it, and serves pages', async (t) => {
  const platform = await startPlatform(t, { only: ['oauth-idp'] })
  const player = await platform.signUp()
  const sender = new StopSender(new FolderChannel(platform.app.config.dataDir), 'first')
  t.same(await sender.stop(10_000), { stopped: 1, silent: 0 })
  t.match(await player.post('/api/auth/sign-out'), {
    status: 503,
    headers: { 'retry-after': '5' },
    body: { error: { code: 'writes_stopped' } },
  })
  t.equal((await player.get('/api/auth/session')).status, 200)
  await t.rejects(platform.app.db.execute('delete from players'), { code: 'writes_stopped' })

  await sender.cancel()
  await until(async () => !platform.app.writeGate.closed)
  await until(async () => (await player.post('/api/auth/sign-out')).status === 204)

  const done = new StopSender(new FolderChannel(platform.app.config.dataDir), 'second')
  t.same(await done.stop(10_000), { stopped: 1, silent: 0 })
  t.equal(await done.complete(10_000), 'complete')
  t.equal((await platform.stranger.post('/api/auth/sign-in', {})).status, 503, 'and none at all after it')
})

t.test('a process that starts after a move accepts changes', async (t) => {
  const { db, dataDir, bus } = await parts(t)
  const channel = new FolderChannel(dataDir)
  await channel.send({ move: 'done', state: 'done' })
  const gate = await WriteGate.open({ db, bus, byBus: bus.shared, dataDir, log, node: 'one' })
  t.teardown(() => gate.close())
  t.equal(gate.closed, false)
  t.notOk(existsSync(join(dataDir, 'moving/request.json')))
  await channel.send({ move: 'now', state: 'stop' })
  const late = await WriteGate.open({ db, bus, byBus: bus.shared, dataDir, log, node: 'two' })
  t.teardown(() => late.close())
  await until(async () => late.closed && (await channel.answers('now', 'stop')).includes('two'))
})

t.test('a move waits for the processes that it knows of', async (t) => {
  const { dataDir } = await parts(t)
  const sender = new StopSender(new FolderChannel(dataDir), 'move')
  const stopped = sender.stop(20_000, 2)
  const folder = join(dataDir, STOP_FOLDER)
  await until(async () => existsSync(join(folder, REQUEST)))
  await answerInFolder(folder, { move: 'move', node: 'one', state: 'stop' })
  // Longer than processes that are not known have.
  await sleep(1300)
  await answerInFolder(folder, { move: 'move', node: 'two', state: 'stop' })
  t.same(await stopped, { stopped: 2, silent: 0 })
  await sender.cancel()
})

t.test('all nodes of a bus stop writing', needsRedis, async (t) => {
  const server = await startRedis(t)
  const buses = await Promise.all(
    [0, 1, 2, 3].map(() => redis.create({ url: server.url, prefix: 'moving' } as never, driverContext())),
  )
  t.teardown(() => Promise.all(buses.map((bus) => bus.close())))
  const databases = []
  const gates: WriteGate[] = []
  for (const [index, bus] of buses.slice(1, 3).entries()) {
    const { db, dataDir } = await parts(t)
    databases.push(db)
    gates.push(await WriteGate.open({ db, bus, byBus: bus.shared, dataDir, log, node: `node${index}` }))
  }
  t.teardown(() => Promise.all(gates.map((gate) => gate.close())))
  const sender = new StopSender(new BusChannel(buses[0] as Bus), 'move')
  t.same(await sender.stop(10_000), { stopped: 2, silent: 0 })
  for (const db of databases) await t.rejects(db.execute('delete from t'), { code: 'writes_stopped' })
  await sender.cancel()
  await until(async () => gates.every((gate) => !gate.closed))

  const busy = buses[3] as Bus
  const disconnect = await busy.subscribe(STOP_CHANNEL, () => {})
  const again = new StopSender(new BusChannel(buses[0] as Bus), 'again')
  const stopped = again.stop(60_000)
  await until(async () => gates.every((gate) => gate.closed))
  // Longer than nodes that are not known have.
  await sleep(1300)
  t.same(await again.result(), { stopped: 2, silent: 1 })
  await disconnect()
  t.same(await again.result(), { stopped: 2, silent: 1 }, 'a node that connects again may write meanwhile')
  const answer = (state: 'stop' | 'done') =>
    busy.publish(ANSWER_CHANNEL, JSON.stringify({ move: 'again', node: 'busy', state }))
  await answer('stop')
  t.same(await stopped, { stopped: 3, silent: 0 }, 'a node that was connected is waited for')
  t.equal(await again.complete(1), 'silent', 'the end of the move is confirmed by each of them')
  const completed = again.complete(60_000)
  await until(async () => gates.every((gate) => gate.closed))
  await answer('done')
  t.equal(await completed, 'complete')
})

t.test('a process with a bus is also asked in its data folder', async (t) => {
  const { db, dataDir, bus } = await parts(t)
  const gate = await WriteGate.open({ db, bus, byBus: true, dataDir, log, node: 'one' })
  t.teardown(() => gate.close())
  const sender = new StopSender(new FolderChannel(dataDir), 'move')
  t.same(await sender.stop(60_000), { stopped: 1, silent: 0 })
  t.ok(gate.closed)
  await sender.cancel()
})

t.test('a process that has ended is not waited for', async (t) => {
  const { db, dataDir, bus } = await parts(t)
  const gate = await WriteGate.open({ db, bus, byBus: false, dataDir, log, node: 'one' })
  t.teardown(() => gate.close())
  const sender = new StopSender(new FolderChannel(dataDir), 'move')
  const stopped = sender.stop(60_000)
  const folder = join(dataDir, STOP_FOLDER)
  await until(async () => gate.closed)
  const { pid } = spawnSync(process.execPath, ['--version'])
  await answerInFolder(folder, { move: 'move', node: 'two', state: 'stop' }, { pid, host: hostname() })
  t.same(await stopped, { stopped: 1, silent: 0 })
  t.equal(await sender.complete(60_000), 'complete')
})

/** A gate in a folder with a short lease, which has stopped for the move `move`. */
async function stoppedGate(t: Test, leaseMs: number) {
  const { db, dataDir, bus } = await parts(t)
  const gate = await WriteGate.open({ db, bus, byBus: false, dataDir, log, node: 'one', leaseMs })
  t.teardown(() => gate.close())
  const channel = new FolderChannel(dataDir)
  const answered = (state: 'stop' | 'done' | 'lapsed') =>
    until(async () => (await channel.answers('move', state)).includes('one'))
  await channel.send({ move: 'move', state: 'stop' })
  await answered('stop')
  return { gate, channel, answered, folder: join(dataDir, STOP_FOLDER) }
}

t.test('a process that was held up longer than its lease stays stopped, if the request was repeated', async (t) => {
  const leaseMs = 4000
  const { gate, channel, answered, folder } = await stoppedGate(t, leaseMs)
  // Nothing of this process runs meanwhile, so that it finds both at once.
  writeFileSync(join(folder, 'next'), JSON.stringify({ move: 'move', state: 'stop' }))
  renameSync(join(folder, 'next'), join(folder, REQUEST))
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, leaseMs)
  await channel.send({ move: 'move', state: 'done' })
  await answered('done')
  t.same(await channel.answers('move', 'lapsed'), [])
  t.ok(gate.closed)
})

t.test('a process that may have written since it answered says so, and ends the move', async (t) => {
  const { gate, channel, answered } = await stoppedGate(t, 1)
  await until(async () => !gate.closed)
  const sender = new StopSender(channel, 'move')
  t.equal(await sender.complete(60_000), 'lapsed')
  await answered('lapsed')
  await sender.cancel()
})

t.test('a repetition that arrives after the end of the move opens nothing', async (t) => {
  const { gate, channel, answered } = await stoppedGate(t, 2000)
  await channel.send({ move: 'move', state: 'done' })
  await answered('done')
  await channel.send({ move: 'move', state: 'stop' })
  await sleep(3000)
  t.ok(gate.closed)
})

async function parts(t: Test) {
  const dataDir = mkdtempSync(join(tmpdir(), 'gameyard-gate-'))
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }))
  const db = await openPlace(t, await newPlace(t, 'sqlite'), {
    entities: [],
    migrations: [{ name: '2026_11_23_gate', sqlite: ['create table t (id text)'], postgres: [] }],
  })
  const { default: local } = await import('../../../../drivers/bus/local.ts')
  return { db, dataDir, bus: await local.create({} as never, driverContext()) }
}
