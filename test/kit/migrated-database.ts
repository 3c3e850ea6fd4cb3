import { readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrationsOf, openDatabase } from '../../core/boot/database.ts'
import type { DatabaseDriver } from '../../core/data/database.ts'
import type { ChosenDriver } from '../../core/driver.ts'
import { randomText } from '../../core/ids.ts'
import { createLog } from '../../core/observe/log.ts'
import type { Plugin } from '../../core/plugin.ts'
import sqlite, { sqliteFrom } from '../../drivers/database/sqlite.ts'
import { driverContext, manualClock } from './driver-context.ts'

/** How often this process has started each list of migrations, and the database that they lead to. */
const starts = new Map<string, number>()
const images = new Map<string, Buffer>()

/**
 * Returns the driver of a database in memory that has the migrations of these plugins already. They take a tenth of a
 * start, and this process would otherwise run the same ones hundreds of times. The first start of a list of migrations
 * runs them itself. Any other driver, and a database in a file, is returned unchanged.
 */
export async function withMigratedDatabase(chosen: ChosenDriver, plugins: Plugin[]): Promise<ChosenDriver> {
  if (chosen.driver !== sqlite || (chosen.config as { file?: string }).file !== ':memory:') return chosen
  const key = JSON.stringify(migrationsOf(plugins).map(({ name, sqlite }) => [name, sqlite]))
  const earlier = starts.get(key) ?? 0
  starts.set(key, earlier + 1)
  if (earlier === 0) return chosen
  const image = images.get(key) ?? (await imageOf(chosen, plugins))
  images.set(key, image)
  return { ...chosen, driver: sqliteFrom(image) }
}

/** Migrates an empty database in memory, and returns it as the bytes of a file. */
async function imageOf({ driver, config }: ChosenDriver, plugins: Plugin[]): Promise<Buffer> {
  const context = driverContext({ clock: manualClock() })
  const empty = (await driver.create(config as never, context)) as DatabaseDriver
  const db = await openDatabase(empty, plugins, { log: createLog('silent'), clock: context.clock })
  const file = join(tmpdir(), `gameyard-migrated-${randomText(9)}.db`)
  try {
    await db.backup(file)
    return readFileSync(file)
  } finally {
    rmSync(file, { force: true })
    await db.close()
  }
}
