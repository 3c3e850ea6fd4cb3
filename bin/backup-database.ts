import { dirname } from 'node:path'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { LoadedConfig } from '../config/load.ts'
import { schemaOf } from '../core/boot/database.ts'
import { systemClock } from '../core/clock.ts'
import type { RestoreTarget } from '../core/data/backups/backup.ts'
import { copyIntoServer, isServer, ServerCopy } from '../core/data/backups/database-copy.ts'
import type { DatabaseDriver } from '../core/data/database.ts'
import { migrate } from '../core/data/migrations.ts'
import type { CopyContext } from '../core/data/moving/copy-tables.ts'
import { createLog } from '../core/observe/log.ts'
import { openDriver, openDriverOf } from './open-driver.ts'

/** A database that a backup copies into a file. */
export interface BackedUpDatabase {
  backup(file: string): Promise<void>
  close(): Promise<void>
}

/** Opens the database of a platform for a backup. SQLite copies its file; the tables of a server are read. */
export async function openBackedUpDatabase(loaded: LoadedConfig): Promise<BackedUpDatabase> {
  const driver = await openDriver<DatabaseDriver>(loaded, 'database', loaded.config.dataDir)
  if (!isServer(driver)) return driver
  try {
    const copy = await ServerCopy.open(driver, contextOf(loaded))
    const skipped = (table: string) =>
      console.error(
        `The table ${table} belongs to no plugin of this configuration, or is not among its entities, and is not in the backup.`,
      )
    return {
      async backup(path) {
        const folder = dirname(path)
        await copy.write(await openSqliteFile(loaded, folder, path), folder, skipped)
      },
      close: () => driver.close(),
    }
  } catch (error) {
    await driver.close()
    throw error
  }
}

/** Where a restore puts the database: into a file in the data folder, or from there into the server. */
export function restoredDatabase(
  loaded: LoadedConfig,
): Pick<RestoreTarget, 'databaseFile' | 'checkDatabase' | 'intoServer'> {
  const { driver, file } = loaded.config.database as { driver: string; file?: string }
  if (driver === 'sqlite' && file !== undefined)
    return { databaseFile: file, checkDatabase: (restored) => mustOpen(loaded, restored) }
  return {
    intoServer: async (path, dataDir) => {
      const target = await openDriver<DatabaseDriver>(loaded, 'database', dataDir)
      return copyIntoServer(await openSqliteFile(loaded, dataDir, path), target, { ...contextOf(loaded), dataDir })
    },
  }
}

/**
 * Refuses a database that the start of this program would refuse, such as one of a newer version. The migration is rolled
 * back, so that the start makes its copy before it.
 *
 * @throws StartupError
 */
export async function mustOpen(loaded: LoadedConfig, file: string): Promise<void> {
  const driver = await openSqliteFile(loaded, dirname(file), file)
  try {
    await driver.open([])
    const { migrations, clock } = contextOf(loaded)
    const rolledBack = new Error('The database can be migrated.')
    const rehearsal = driver.migrate(async (em) => {
      const within = { dialect: driver.dialect, migrate: (work: (em: SqlEntityManager) => Promise<void>) => work(em) }
      await migrate(within, migrations, { log: createLog('silent'), clock })
      throw rolledBack
    })
    await rehearsal.catch((error) => {
      if (error !== rolledBack) throw error
    })
  } finally {
    await driver.close()
  }
}

/** Creates a driver of a SQLite file outside of the configuration, which is not open yet. */
export async function openSqliteFile(loaded: LoadedConfig, dataDir: string, file: string): Promise<DatabaseDriver> {
  const { default: sqlite } = await import('../drivers/database/sqlite.ts')
  return openDriverOf(sqlite, { file, durability: 'normal', busyTimeout: 5000 }, loaded, dataDir)
}

const contextOf = ({ plugins, disabled }: LoadedConfig): CopyContext => ({
  ...schemaOf(plugins, disabled),
  clock: systemClock,
  log: createLog('warn', process.stderr),
  progress: { step() {}, advance() {} },
})
