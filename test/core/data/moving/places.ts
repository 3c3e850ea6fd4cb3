import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PostgreSqlDriver } from '@mikro-orm/postgresql'
import { MikroORM, type SqlEntityManager } from '@mikro-orm/sql'
import { SqliteDriver } from '@mikro-orm/sqlite'
import type { Test } from 'tap'
import { systemClock } from '../../../../core/clock.ts'
import { Database, type DatabaseDriver, type Entity } from '../../../../core/data/database.ts'
import { Keys } from '../../../../core/data/keys.ts'
import type { Migration } from '../../../../core/data/migrations.ts'
import { type MoveOptions, type MoveSummary, move, type Place } from '../../../../core/data/moving/move.ts'
import { createLog } from '../../../../core/observe/log.ts'
import postgres from '../../../../drivers/database/postgres.ts'
import sqlite from '../../../../drivers/database/sqlite.ts'
import type { Storage } from '../../../../drivers/storage/interface.ts'
import local from '../../../../drivers/storage/local.ts'
import { driverContext } from '../../../kit/driver-context.ts'
import { startPostgres } from '../../../kit/postgres.ts'

export const log = createLog('silent')

/** Writes the migration that creates the tables of some entities, for both databases. */
export async function migrationOf(entities: Entity[]): Promise<Migration> {
  const statements = async (driver: typeof SqliteDriver | typeof PostgreSqlDriver) => {
    const orm = await MikroORM.init({ driver: driver as never, dbName: 'none', entities, connect: false } as never)
    const { SchemaGenerator } = await import('@mikro-orm/sql')
    const text = await new SchemaGenerator(orm.em as SqlEntityManager).getCreateSchemaSQL({ wrap: false })
    return text
      .split(/;\n/)
      .map((statement) => statement.trim())
      .filter(
        (statement) => statement && !statement.startsWith('--') && !/^(create extension|set names)/.test(statement),
      )
  }
  return {
    name: '2026_11_23_moved',
    sqlite: await statements(SqliteDriver),
    postgres: await statements(PostgreSqlDriver),
  }
}

/** A database and a folder for blobs and keys, whose drivers are opened as often as needed. */
export interface TestPlace {
  dataDir: string
  secret: string | undefined
  database(): Promise<DatabaseDriver>
  storage(): Promise<Storage>
}

export const SECRET = 'a secret of the tests that is long enough'

export async function newPlace(t: Test, kind: 'sqlite' | 'postgres'): Promise<TestPlace> {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-move-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const dataDir = join(folder, 'data')
  mkdirSync(dataDir)
  const url = kind === 'postgres' ? await (await startPostgres()).database() : ''
  const context = driverContext({ dataDir })
  await Keys.open({ dataDir, secret: SECRET })
  return {
    dataDir,
    secret: SECRET,
    database: () =>
      kind === 'postgres'
        ? postgres.create({ url, poolSize: 4, ssl: 'off' }, context)
        : sqlite.create({ file: 'gameyard.db', durability: 'normal', busyTimeout: 5000 }, context),
    storage: () => local.create({ path: 'blobs', reserveBytes: 0 }, context),
  }
}

/** Opens the migrated database of a place. It closes with the test. */
export async function openPlace(
  t: Test,
  place: TestPlace,
  { entities, migrations }: { entities: Entity[]; migrations: Migration[] },
): Promise<Database> {
  const db = await Database.open(await place.database(), { entities, migrations, log, clock: systemClock })
  t.teardown(() => db.close())
  return db
}

export async function movePlaces(
  from: TestPlace,
  to: TestPlace,
  options: Pick<MoveOptions, 'entities' | 'migrations'> & Partial<MoveOptions>,
): Promise<MoveSummary> {
  const place = async ({ dataDir, secret, database, storage }: TestPlace): Promise<Place & { storage: Storage }> => ({
    dataDir,
    secret,
    database: await database(),
    storage: await storage(),
  })
  const [source, target] = [await place(from), await place(to)]
  try {
    return await move({
      source,
      target,
      log,
      clock: systemClock,
      same: { database: false, storage: false },
      progress: { step() {}, advance() {} },
      writeStop: { async begin() {}, async cancel() {}, async complete() {} },
      ...options,
    })
  } finally {
    await source.storage.close()
    await target.storage.close()
  }
}
