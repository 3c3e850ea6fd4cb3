import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import pg from 'pg'
import t from 'tap'
import { amount } from '../../kit/extent.ts'
import { openMigrated, slowMigrations, startMigrating } from '../../kit/migrating-process.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'

/** The number of times that a process is killed during a migration. */
const KILLS = amount(1, 50)

const folder = await mkdtemp(join(tmpdir(), 'gameyard-migrations-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))

const databases = [
  {
    dialect: 'sqlite',
    options: {},
    create: async () => join(folder, `${randomBytes(6).toString('hex')}.db`),
    tables: async (place: string) => {
      const database = new Sqlite(place, { timeout: 5000 })
      const rows = database.prepare("select name from sqlite_master where type = 'table'").all() as { name: string }[]
      database.close()
      return rows.map((row) => row.name)
    },
  },
  {
    dialect: 'postgres',
    options: needsPostgres,
    create: async () => (await startPostgres()).database(),
    tables: async (place: string) => {
      const client = new pg.Client(place)
      await client.connect()
      const { rows } = await client.query("select tablename as name from pg_tables where schemaname = 'public'")
      await client.end()
      return rows.map((row) => row.name as string)
    },
  },
] as const

for (const { dialect, options, create, tables } of databases) {
  t.test(`${dialect}: a process killed while it migrates leaves all or nothing`, options, async (t) => {
    const warm = startMigrating(dialect, await create())
    await warm.opening
    const begun = performance.now()
    t.equal(await warm.ended, 0)
    let longest = performance.now() - begun

    let interrupted = 0
    let tries = 0
    for (; interrupted < KILLS && tries < 5 * KILLS + 5; tries++) {
      const place = await create()
      const { child, opening, ended } = startMigrating(dialect, place)
      await opening
      await sleep(Math.random() * longest)
      child.kill('SIGKILL')
      if ((await ended) === null) interrupted++
      // The measurement was slower, because the machine was busy then.
      else longest *= 0.7

      const left = (await tables(place)).filter((name) => name.startsWith('slow_')).length
      t.ok(left === 0 || left === slowMigrations.length, `${left} tables`)
      const db = await openMigrated(dialect, place)
      t.same(await db.query('select count(*) as count from schema_migrations'), [{ count: slowMigrations.length }])
      t.same(await db.query('select count(*) as count from slow_19'), [{ count: 3000 }])
      await db.close()
    }
    t.ok(interrupted > 0, `${interrupted} of ${tries} were killed before they ended`)
  })

  t.test(`${dialect}: processes that start at once on a new database migrate it once`, options, async (t) => {
    const place = await create()
    const codes = await Promise.all(Array.from({ length: amount(2, 3) }, () => startMigrating(dialect, place).ended))
    t.ok(
      codes.every((code) => code === 0),
      codes.join(),
    )
    const db = await openMigrated(dialect, place)
    t.teardown(() => db.close())
    t.same(await db.query('select count(*) as count from schema_migrations'), [{ count: slowMigrations.length }])
    t.same(await db.query('select count(*) as count from slow_00'), [{ count: 3000 }])
  })

  t.test(`${dialect}: a database that holds migrations of a newer program is refused`, options, async (t) => {
    const place = await create()
    const db = await openMigrated(dialect, place)
    await db.execute('insert into schema_migrations (name, applied_at) values (?, ?)', ['2999_01_01_orbit', 0])
    await db.close()
    await t.rejects(openMigrated(dialect, place), { message: /newer Gameyard.*2999_01_01_orbit/ })
  })
}
