// A process that stops writing while a move takes its last step.
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
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
  t.equal(await done.complete(10_000), true)
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
  t.equal(await again.complete(1), false, 'the end of the move is confirmed by each of them')
  const completed = again.complete(60_000)
  await until(async () => gates.every((gate) => gate.closed))
  await answer('done')
  t.equal(await completed, true)
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
