// Backups of a database server: one moment of it, restored into a file and into another server.
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setImmediate as turn } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { defineEntity, p } from '@mikro-orm/core'
import t, { type Test } from 'tap'
import { systemClock } from '../../../core/clock.ts'
import { restoreBackup, writeBackup } from '../../../core/data/backups/backup.ts'
import { copyIntoServer, isServer, ServerCopy } from '../../../core/data/backups/database-copy.ts'
import type { Database } from '../../../core/data/database.ts'
import type { CopyContext } from '../../../core/data/moving/copy-tables.ts'
import sqlite from '../../../drivers/database/sqlite.ts'
import type { Storage } from '../../../drivers/storage/interface.ts'
import { driverContext } from '../../kit/driver-context.ts'
import { needsPostgres } from '../../kit/postgres.ts'
import { log, migrationOf, newPlace, openPlace, type TestPlace } from './moving/places.ts'

const File = defineEntity({
  name: 'File',
  tableName: 'files',
  properties: { id: p.string().length(20).primary(), key: p.text(), made: p.datetime(3), facts: p.json() },
})
const Count = defineEntity({
  name: 'Count',
  tableName: 'counts',
  properties: { id: p.string().length(20).primary(), files: p.integer() },
})
const entities = [File, Count]
const migrations = [await migrationOf(entities)]
const schema = { entities, migrations }
const context: CopyContext = { ...schema, log, clock: systemClock, progress: { step() {}, advance() {} } }
const FACTS = { b: [1, 'é'], a: null }
const MADE = new Date('2026-11-26T12:00:00.123Z')

/** Opens the driver of a file that does not exist, or of a copy. */
const openFile = (file: string) =>
  sqlite.create({ file, durability: 'normal', busyTimeout: 5000 }, driverContext({ dataDir: dirname(file) }))

/** Stores a blob, and then its row and the number of rows in one transaction. */
async function save(db: Database, storage: Storage, number: number): Promise<void> {
  const bytes = randomBytes(100)
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const key = `blobs/${sha256}`
  await storage.put(key, Readable.from([bytes]), { sha256, size: bytes.length })
  await db.transaction(async (em) => {
    await em.insert(File, { id: `F-${number}`, key, made: MADE, facts: FACTS })
    await em.execute('update counts set files = files + 1')
  })
}

/** Writes a backup of a place into a new file beside its data. */
async function backUp({ dataDir, database, storage }: TestPlace, skipped: string[] = []): Promise<string> {
  const driver = await database()
  if (!isServer(driver)) throw new Error('no server')
  const copy = await ServerCopy.open(driver, context)
  const blobs = await storage()
  try {
    const target = join(dirname(dataDir), `${randomBytes(4).toString('hex')}.tar`)
    const backup = async (file: string) =>
      copy.write(await openFile(file), dirname(file), (table) => skipped.push(table))
    await writeBackup({ driver: { backup }, storage: blobs, dataDir }, target)
    return target
  } finally {
    await blobs.close()
    await driver.close()
  }
}

/** Restores a backup, into the server of the place if it has one. */
async function restoreInto(place: TestPlace, file: string, progress = context.progress): Promise<void> {
  const driver = await place.database()
  await restoreBackup(file, {
    dataDir: join(place.dataDir, 'restored'),
    openStorage: async () => place.storage(),
    secret: place.secret,
    ...(isServer(driver) && {
      intoServer: async (path, dataDir) =>
        copyIntoServer(await openFile(path), driver, { ...context, progress, dataDir }),
    }),
  })
}

/** Checks that every row is as it was written, that there are as many as the count says, and that no blob is missing. */
async function checkRows(t: Test, db: Database, storage: Storage): Promise<number> {
  const rows = await db.em().find(File, {})
  const [count] = await db.em().find(Count, {})
  t.equal(rows.length, count?.files, 'all rows are of one moment')
  for (const { key, made, facts } of rows) {
    if (!isDeepStrictEqual({ made, facts }, { made: MADE, facts: FACTS }))
      t.same({ made, facts }, { made: MADE, facts: FACTS })
    const bytes = await buffer(await storage.get(key))
    if (!key.endsWith(createHash('sha256').update(bytes).digest('hex'))) t.fail(`${key} is another`)
  }
  return rows.length
}

/** Creates a platform on PostgreSQL with some rows and blobs. */
async function fill(t: Test, rows: number) {
  const place = await newPlace(t, 'postgres')
  const db = await openPlace(t, place, schema)
  const storage = await place.storage()
  t.teardown(() => storage.close())
  await db.em().insert(Count, { id: 'all', files: 0 })
  for (let number = 0; number < rows; number++) await save(db, storage, number)
  return { place, db, storage }
}

t.test(
  'a backup of PostgreSQL under load is one moment, and restores into both databases',
  needsPostgres,
  async (t) => {
    const { place, db, storage } = await fill(t, 300)
    await db.execute('create table strangers (id int primary key)')
    let writing = true
    let written = 300
    const writer = (async () => {
      for (; writing; written++) {
        await save(db, storage, written)
        await turn()
      }
    })()
    const skipped: string[] = []
    const file = await backUp(place, skipped)
    writing = false
    await writer
    t.ok(written > 300, `${written - 300} rows were written meanwhile`)
    t.same(skipped, ['strangers'], 'a table of nobody is named, and left out')
    t.same(readdirSync(dirname(file)).filter((name) => name.includes('tar')).length, 1, 'nothing else is left')

    for (const kind of ['sqlite', 'postgres'] as const) {
      const target = await newPlace(t, kind)
      await restoreInto(target, file)
      t.equal(existsSync(join(target.dataDir, 'restored/gameyard.db')), kind === 'sqlite')
      const restored =
        kind === 'sqlite'
          ? { ...target, database: () => openFile(join(target.dataDir, 'restored/gameyard.db')) }
          : target
      const blobs = await target.storage()
      t.teardown(() => blobs.close())
      const rows = await checkRows(t, await openPlace(t, restored, schema), blobs)
      t.ok(rows >= 300 && rows <= written, `${kind}: ${rows} rows`)
    }
  },
)

t.test('an interrupted restore starts no platform, and the next run completes it', needsPostgres, async (t) => {
  const { place } = await fill(t, 20)
  const file = await backUp(place)
  const target = await newPlace(t, 'postgres')
  const interrupted = {
    step() {},
    advance() {
      throw new Error('interrupted')
    },
  }
  await t.rejects(restoreInto(target, file, interrupted), /interrupted/)
  t.notOk(existsSync(join(target.dataDir, 'restored')), 'no data folder')
  await t.rejects(openPlace(t, target, schema), {
    name: 'StartupError',
    message: /gameyard restore` that is not complete/,
  })
  await restoreInto(target, file)
  const blobs = await target.storage()
  t.teardown(() => blobs.close())
  t.equal(await checkRows(t, await openPlace(t, target, schema), blobs), 20)
  await t.rejects(
    restoreInto({ ...target, dataDir: join(target.dataDir, 'again') }, file),
    { name: 'MoveError', message: /database is not empty/ },
    'never over something',
  )
})
