import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { backUpBeforeMigration } from '../../../core/data/backups/migration-backup.ts'
import { Database, type DatabaseDriver } from '../../../core/data/database.ts'
import { lastVersion, versionMigrations } from '../../../core/data/program-versions.ts'
import postgres from '../../../drivers/database/postgres.ts'
import sqlite from '../../../drivers/database/sqlite.ts'
import { driverContext, manualClock } from '../../kit/driver-context.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'

/** Lets versions open a database one after the other. @returns the last driver, open */
async function openedBy(t: Test, versions: string[], driver: () => Promise<DatabaseDriver>): Promise<DatabaseDriver> {
  const { log } = driverContext()
  const clock = manualClock()
  const opened = await driver()
  t.equal(await opened.open([]).then(() => lastVersion(opened)), null, 'of one that is empty there is none')
  await opened.close()
  for (const version of versions) {
    const db = await Database.open(await driver(), { entities: [], migrations: versionMigrations, log, clock, version })
    await db.close()
    clock.advance(1000)
  }
  const last = await driver()
  await last.open([])
  t.teardown(() => last.close())
  return last
}

t.test('a database knows which version opened it last, on SQLite', async (t) => {
  const context = driverContext({ dataDir: t.testdir() })
  const file = () => sqlite.create({ file: 'yard.db', durability: 'normal', busyTimeout: 300 }, context)
  const driver = await openedBy(t, ['0.9.0', '0.10.0', '0.10.0', '0.9.0'], file)
  t.equal(await lastVersion(driver), '0.9.0', 'also after going back')
})

t.test('of PostgreSQL the way back is a dump, which is said with both versions', needsPostgres, async (t) => {
  const server = await startPostgres()
  const url = await server.database()
  const driver = await openedBy(t, ['0.9.0', '0.10.0'], () =>
    postgres.create({ url, poolSize: 2, ssl: 'off' }, driverContext()),
  )
  const dataDir = t.testdir()
  const said: string[] = []
  const log = { info: (message: string) => void said.push(message) }
  t.equal(await backUpBeforeMigration({ driver, dataDir, version: '0.11.0', clock: manualClock(), log }), null)
  t.match(said, [/pg_dump --format=custom --file=before-0\.11\.0-from-0\.10\.0\.dump$/])
  t.notOk(existsSync(join(dataDir, 'backups')))
})
