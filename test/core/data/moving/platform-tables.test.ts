// The tables of the whole platform.
import t from 'tap'
import { schemaOf } from '../../../../core/boot/database.ts'
import { MIGRATIONS_TABLE } from '../../../../core/data/migrations.ts'
import { tablesOf } from '../../../../core/data/moving/tables.ts'
import sqlite from '../../../../drivers/database/sqlite.ts'
import { plugins } from '../../../../plugins/index.ts'
import { driverContext } from '../../../kit/driver-context.ts'
import { startPlatform } from '../../../kit/platform.ts'

t.test('every table has an entity, by which it is moved', async (t) => {
  const { app } = await startPlatform(t)
  const rows = await app.db.query<{ name: string }>(
    "select name from sqlite_master where type = 'table' and name not like 'sqlite%' order by name",
  )
  const driver = await sqlite.create({ file: ':memory:', durability: 'normal', busyTimeout: 1000 }, driverContext())
  const orm = await driver.open(schemaOf(plugins).entities)
  t.teardown(() => driver.close())
  const tables = tablesOf(orm, orm).map(({ name }) => name)
  t.same([...tables, MIGRATIONS_TABLE].toSorted(), rows.map(({ name }) => name).toSorted())
})
