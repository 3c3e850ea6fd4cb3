import { existsSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { folderSource } from '../../../core/data/built-files.ts'
import type { DatabaseDriver } from '../../../core/data/database.ts'
import type { DriverContext } from '../../../core/driver.ts'
import { WorkerPrograms } from '../../../core/jobs/worker-programs.ts'
import sqlite from '../../../drivers/database/sqlite.ts'
import { captureLog, driverContext } from '../../kit/driver-context.ts'
import { until } from '../../kit/until.ts'

const programs = new WorkerPrograms(folderSource(resolve(import.meta.dirname, '../../../dist/browser')))
/** Together fewer pages than the length of the log at which a commit copies it. */
const WRITES = 600
const BYTES = 16_000

async function write(t: Test, context: Partial<DriverContext>) {
  const dataDir = t.testdir()
  const config = { file: 'a.db', durability: 'normal' as const, busyTimeout: 5000 }
  const db: DatabaseDriver = await sqlite.create(config, driverContext({ dataDir, ...context }))
  await db.open([])
  await db.execute('create table values_kept (id integer primary key, bytes blob)', [])
  for (let id = 0; id < WRITES; id++)
    await db.execute('insert into values_kept values (?, ?)', [id, Buffer.alloc(BYTES, id)])
  const file = join(dataDir, 'a.db')
  return { db, file, size: () => statSync(file).size }
}

t.test('a thread copies the log of a database that is written much', async (t) => {
  const asked: string[] = []
  const { db, file, size } = await write(t, {
    workerProgram: (name) => {
      asked.push(name)
      return programs.text(name)
    },
  })
  await until(async () => size() > (WRITES * BYTES) / 2)
  t.same(asked, ['sqlite-checkpoints'])
  await db.execute('delete from values_kept where id < 100', [])
  const [row] = (await db.query(
    'select count(*) as rows, sum(length(bytes)) as bytes from values_kept',
    [],
  )) as object[]
  t.same(row, { rows: WRITES - 100, bytes: (WRITES - 100) * BYTES })
  t.equal(await db.findDamage?.(), null)
  await db.close()
  t.notOk(existsSync(`${file}-wal`), 'the thread has closed the file before the last connection')
})

t.test('without a thread, and where its program does not run, commits copy the log', async (t) => {
  for (const program of [null, 'throw new Error("no")']) {
    const { log, lines } = captureLog()
    const { db, file, size } = await write(t, { log, ...(program && { workerProgram: async () => program }) })
    t.ok(size() < BYTES, 'the log is short yet')
    if (program) await until(async () => lines().length > 0)
    t.match(lines(), program ? [{ level: 'warn', err: { message: 'no' } }] : [], 'a thread that fails is told once')
    await db.close()
    t.ok(size() > WRITES * BYTES)
    t.notOk(existsSync(`${file}-wal`))
  }
})
