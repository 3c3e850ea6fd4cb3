import t from 'tap'
import type { DatabaseDriver } from '../../../core/data/database.ts'
import { migrate } from '../../../core/data/migrations.ts'
import { IdempotentAnswer, idempotencyMigrations } from '../../../core/http/idempotency.ts'
import { BackgroundJob, jobMigrations } from '../../../core/jobs/jobs.ts'
import postgres from '../../../drivers/database/postgres.ts'
import sqlite from '../../../drivers/database/sqlite.ts'
import { plugins } from '../../../plugins/index.ts'
import { driverContext } from '../../kit/driver-context.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'

const entities = [BackgroundJob, IdempotentAnswer, ...plugins.flatMap((plugin) => plugin.entities)]
const migrations = [...jobMigrations, ...idempotencyMigrations, ...plugins.flatMap((plugin) => plugin.migrations)]

/** Returns the statements that a migrated database still needs to match the entities. */
async function missing(driver: DatabaseDriver): Promise<string> {
  const orm = await driver.open(entities)
  try {
    await migrate(driver, migrations, driverContext())
    return (await orm.schema.getUpdateSchemaSQL({ wrap: false, dropTables: false })).trim()
  } finally {
    await driver.close()
  }
}

t.test('the migrations make exactly the tables of the entities on SQLite', async (t) => {
  const driver = await sqlite.create({ file: ':memory:', durability: 'normal', busyTimeout: 1000 }, driverContext())
  t.equal(await missing(driver), '', 'or run: npm run migration -- <plugin> <name>')
})

t.test('the migrations make exactly the tables of the entities on PostgreSQL', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  const driver = await postgres.create({ url, poolSize: 2, ssl: 'off' }, driverContext())
  t.equal(await missing(driver), '', 'or run: npm run migration -- <plugin> <name>')
})
