import { access } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { LoadedConfig } from '../config/load.ts'
import { openDatabase } from '../core/boot/database.ts'
import { systemClock } from '../core/clock.ts'
import { backUpBeforeMigration } from '../core/data/backups/migration-backup.ts'
import type { Database, DatabaseDriver } from '../core/data/database.ts'
import { makeFolder } from '../core/data/folders/make-folder.ts'
import { StartupError } from '../core/errors.ts'
import { type Bus, Events } from '../core/events.ts'
import { createLog } from '../core/observe/log.ts'
import { giveToOwner, mustReadData, ownerOf } from './data-folder-owner.ts'
import { openDriver } from './open-driver.ts'

/** The parts of a platform that a command uses to change it. */
export interface OpenedDatabase {
  db: Database
  bus: Bus
  /** Other nodes receive a change over the bus; without a bus they read it within seconds. */
  events: Events
}

/**
 * Requires that a configuration is that of a platform with data, and says whose data the command uses, on standard
 * error.
 *
 * @throws StartupError
 */
export async function mustHavePlatform({ config, file }: LoadedConfig): Promise<void> {
  const { dataDir } = config
  const { driver, file: database = '' } = config.database as { driver: string; file?: string }
  await mustReadData(dataDir)
  await access(driver === 'sqlite' ? resolve(dataDir, database) : dataDir).catch(() => {
    const named = file === null ? '' : `, as ${file} names it`
    throw new StartupError(
      `There is no platform with its data in ${dataDir}${named}. Name its configuration with --config, or its data folder with --data.`,
    )
  })
  sayWhose(config)
}

const sayWhose = ({ portal, dataDir }: LoadedConfig['config']): void =>
  void process.stderr.write(`${portal.url}, with its data in ${dataDir}\n`)

/**
 * Gives a command the migrated database of a platform, without starting the platform. The platform may run meanwhile.
 *
 * @param name recorded as the source of the command's events
 * @param make whether the platform's data may be created; otherwise it must exist
 * @throws StartupError
 */
export async function withDatabase(
  loaded: LoadedConfig,
  { name, version, make = false }: { name: string; version: string; make?: boolean },
  work: (opened: OpenedDatabase) => Promise<void>,
): Promise<void> {
  const { config, plugins, disabled } = loaded
  const { dataDir } = config
  const owner = ownerOf(dataDir)
  if (make) {
    await makeFolder(dataDir)
    sayWhose(config)
  } else await mustHavePlatform(loaded)
  const context = { clock: systemClock, log: createLog('warn', process.stderr) }
  const bus = await openDriver<Bus>(loaded, 'bus', dataDir)
  try {
    const driver = await openDriver<DatabaseDriver>(loaded, 'database', dataDir)
    const beforeMigration = () => backUpBeforeMigration({ ...context, driver, dataDir, version })
    const db = await openDatabase(driver, plugins, { ...context, version, beforeMigration, disabled })
    try {
      await work({ db, bus, events: new Events(bus, context.log, name) })
    } finally {
      await db.close()
    }
  } finally {
    await bus.close()
    await giveToOwner(dataDir, owner)
  }
}
