import type { MikroORM } from '@mikro-orm/sql'
import type { DatabaseDriver } from '../database.ts'
import { migrate } from '../migrations.ts'
import { type CopyContext, TablesCopy } from '../moving/copy-tables.ts'
import { identifySource } from '../moving/target-state.ts'

/** A driver that reads one moment of a database server. */
type ServerDriver = DatabaseDriver & Required<Pick<DatabaseDriver, 'snapshot'>>

/** The mark of an incomplete copy. A backup starts over, so it needs no name of its own. */
const COPY = 'copy for a backup'

/** Whether backups read the tables of a database, since it is no file that can be copied. */
export const isServer = (driver: DatabaseDriver): driver is ServerDriver => driver.snapshot !== undefined

/**
 * Copies the tables of a database server, as of one moment, into a new SQLite file, and reads each row back. So a backup
 * has one format for all databases, can be restored into any of them, and needs no program of the server's version.
 */
export class ServerCopy {
  readonly #driver: ServerDriver
  readonly #orm: MikroORM
  readonly #context: CopyContext

  private constructor(driver: ServerDriver, orm: MikroORM, context: CopyContext) {
    this.#driver = driver
    this.#orm = orm
    this.#context = context
  }

  /** Opens the driver, which the caller closes. */
  static async open(driver: ServerDriver, context: CopyContext): Promise<ServerCopy> {
    return new ServerCopy(driver, await driver.open(context.entities, { lean: true }), context)
  }

  /**
   * @param file a driver of the new file, which is not open yet
   * @param dataDir a folder for temporary files, with room for the keys of all rows
   * @param skipped called for each table that belongs to no plugin, and is not copied
   * @throws MoveError
   */
  write(file: DatabaseDriver, dataDir: string, skipped: (table: string) => void): Promise<void> {
    const { dialect } = this.#driver
    const groupCommit = this.#driver.groupCommit.bind(this.#driver)
    return this.#driver.snapshot(async (query) => {
      await identifySource({ query }, this.#context.migrations, '')
      const copy = await TablesCopy.open({
        ...this.#context,
        source: { dialect, query, groupCommit },
        sourceOrm: this.#orm,
        target: { database: file, dataDir },
        identity: COPY,
        skipped,
      })
      try {
        await copy.copy()
        await copy.finish({ unchanged: true })
        await copy.release()
      } finally {
        await copy.close()
      }
    })
  }
}

/**
 * Copies the database file of a backup into the empty database of a server, and compares all rows. A file of an older
 * version is migrated before.
 *
 * @param file a driver of the file, which is not open yet
 * @param target a driver of the server, which is not open yet
 * @returns the copy: `release` lets a platform start on it, `close` closes the server
 * @throws MoveError, and StartupError for a file of a newer version
 */
export async function copyIntoServer(
  file: DatabaseDriver,
  target: DatabaseDriver,
  { dataDir, ...context }: CopyContext & { dataDir: string },
): Promise<Pick<TablesCopy, 'release' | 'close'>> {
  const sourceOrm = await file.open(context.entities, { lean: true })
  try {
    // The times of the migrations identify the platform, so that the next run continues an interrupted one. Each run
    // migrates the file again, so these have one time.
    await migrate(file, context.migrations, { ...context, clock: { now: () => new Date(0) } })
    const identity = await identifySource(file, context.migrations, 'backup')
    const copy = await TablesCopy.open({
      ...context,
      source: file,
      sourceOrm,
      target: { database: target, dataDir },
      identity,
    })
    try {
      await copy.copy()
      await copy.finish({ unchanged: true })
      return copy
    } catch (error) {
      await copy.close()
      throw error
    }
  } finally {
    await file.close()
  }
}
