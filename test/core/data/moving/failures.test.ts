// What interrupts a move: a server that goes away, and a disk that fills up.
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineEntity, p } from '@mikro-orm/core'
import t, { type Test } from 'tap'
import type { Database } from '../../../../core/data/database.ts'
import type { CopyProgress } from '../../../../core/data/moving/copy-tables.ts'
import { WriteGate } from '../../../../core/data/moving/write-gate.ts'
import { FolderChannel, StopSender } from '../../../../core/data/moving/write-stop.ts'
import local from '../../../../drivers/bus/local.ts'
import { driverContext } from '../../../kit/driver-context.ts'
import { needsPostgres, startPostgres } from '../../../kit/postgres.ts'
import { until } from '../../../kit/until.ts'
import { log, migrationOf, movePlaces, newPlace, openPlace, type TestPlace } from './places.ts'

const Thing = defineEntity({
  name: 'Thing',
  tableName: 'things',
  properties: { id: p.string().length(20).primary(), note: p.text() },
})
const entities = [Thing]
const schema = { entities, migrations: [await migrationOf(entities)] }

/** The notes have 4 KB each, so that some hundred rows fill a small disk. */
async function fill(t: Test, place: TestPlace, rows: number): Promise<Database> {
  const db = await openPlace(t, place, schema)
  await db.transaction((em) =>
    em.insertMany(
      Thing,
      Array.from({ length: rows }, (_, number) => ({
        id: `T-${String(number).padStart(5, '0')}`,
        note: randomBytes(2048).toString('hex'),
      })),
    ),
  )
  return db
}

const rowsOf = (db: Database) => db.query('select * from things order by id')

/** Does something when the first rows are copied. */
const afterFirstRows = (work: () => void | Promise<void>): CopyProgress => {
  let done = false
  return {
    step() {},
    advance() {
      if (!done) void work()
      done = true
    },
  }
}

t.test('a move whose database server goes away says so, and goes on when it is back', needsPostgres, async (t) => {
  for (const [one, other, which] of [
    ['sqlite', 'postgres', 'target'],
    ['postgres', 'sqlite', 'source'],
  ] as const) {
    const [from, to] = [await newPlace(t, one), await newPlace(t, other)]
    const source = await fill(t, from, 3000)
    const before = await rowsOf(source)
    const server = await startPostgres()
    let stopped: Promise<void> | undefined
    const progress = afterFirstRows(() => {
      stopped = server.stop()
    })
    await t.rejects(movePlaces(from, to, { ...schema, progress }), {
      name: 'MoveError',
      message: new RegExp(`^The ${which} can't be used now .*: run the same command again\\.`),
    })
    await stopped
    await server.start()
    const { rows } = await movePlaces(from, to, schema)
    t.equal(rows, before.length)
    t.same(await rowsOf(await openPlace(t, to, schema)), before)
  }
})

function mountDisk(t: Test, folder: string, size: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder], { stdio: 'ignore' })
  } catch {
    return false
  }
  t.teardown(() => execFileSync('umount', ['-l', folder]))
  return true
}

t.test('a lack of room is said in one sentence, and the move goes on when there is some', async (t) => {
  const [from, to] = [await newPlace(t, 'sqlite'), await newPlace(t, 'sqlite')]
  const source = await fill(t, from, 2000)
  const before = await rowsOf(source)
  if (!mountDisk(t, to.dataDir, '40m')) {
    t.pass('no disk', { skip: 'this process may not mount a tmpfs' })
    return
  }
  const ballast = join(to.dataDir, 'ballast')
  writeFileSync(ballast, Buffer.alloc(34_000_000))
  await t.rejects(movePlaces(from, to, schema), {
    name: 'MoveError',
    message: /^The target's database has no room: it takes about [\d,.]+ [KMG]iB, and .* has [\d,.]+ [KMGT]iB free\.$/,
  })
  rmSync(ballast)
  // Something else fills the disk while the rows are copied.
  const progress = afterFirstRows(() => {
    for (let size = 32_000_000, number = 0; size > 1000; size = Math.floor(size / 2))
      try {
        mkdirSync(ballast, { recursive: true })
        writeFileSync(join(ballast, String(number++)), Buffer.alloc(size))
      } catch {}
  })
  await t.rejects(movePlaces(from, to, { ...schema, progress }), {
    name: 'MoveError',
    message: 'The target has no room left: make room, and run the same command again.',
  })
  rmSync(ballast, { recursive: true })
  await movePlaces(from, to, schema)
  t.same(await rowsOf(await openPlace(t, to, schema)), before)
})

t.test('a move that ends in its last step leaves one place that accepts changes, and goes on', async (t) => {
  const [from, to] = [await newPlace(t, 'sqlite'), await newPlace(t, 'sqlite')]
  const { dataDir } = from
  const source = await fill(t, from, 100)
  const bus = await local.create({} as never, driverContext())
  const gate = await WriteGate.open({ db: source, bus, byBus: false, dataDir, log, node: 'one' })
  t.teardown(() => gate.close())
  const insert = (id: string) => source.transaction((em) => em.insert(Thing, { id, note: '' }))
  const isIncomplete = () =>
    t.rejects(openPlace(t, to, schema), {
      message: /target of a `gameyard move` or `gameyard restore` that is not complete/,
    })
  const moveAs = (name: string, end: (sender: StopSender) => Promise<unknown>) => {
    const sender = new StopSender(new FolderChannel(dataDir), name)
    const begin = async () => {
      t.same(await sender.stop(30_000), { stopped: 1, silent: 0 })
    }
    const complete = async () => void (await end(sender))
    return { sender, writeStop: { begin, complete, cancel: () => sender.cancel() } }
  }

  // A killed process tells the source nothing more.
  const killed = moveAs('killed', async (sender) => {
    await isIncomplete()
    t.equal(await sender.complete(30_000), 'complete')
    throw new Error('killed')
  })
  const silent = { ...killed.writeStop, cancel: async () => {} }
  await t.rejects(movePlaces(from, to, { ...schema, writeStop: silent }), { message: 'killed' })
  t.equal(gate.closed, true)
  await t.rejects(insert('lost'), { code: 'writes_stopped' })
  await isIncomplete()

  // The source can't be told that the move is complete.
  const failed = moveAs('failed', async () => {
    throw new Error('failed')
  })
  await t.rejects(movePlaces(from, to, { ...schema, writeStop: failed.writeStop }), { message: 'failed' })
  await until(() => !gate.closed)
  await insert('kept')
  await isIncomplete()

  const before = await rowsOf(source)
  const whole = moveAs('whole', (sender) => sender.complete(30_000))
  t.equal((await movePlaces(from, to, { ...schema, writeStop: whole.writeStop })).rows, 101)
  t.same(await rowsOf(await openPlace(t, to, schema)), before)
  t.equal(gate.closed, true)
})
