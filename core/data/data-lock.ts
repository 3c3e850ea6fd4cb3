import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../clock.ts'
import { StartupError } from '../errors.ts'
import { openDataFolder } from './data-folder.ts'

/** The process that uses a data folder, as recorded in the file `lock`. */
export interface LockHolder {
  pid: number
  host: string
  /** ISO 8601, UTC. */
  startedAt: string
  /** Address of the portal. */
  address: string
}

/** SQLite's result code for a lock that another process holds. */
const SQLITE_BUSY = 5

/**
 * Guarantees that only one server uses a data folder.
 *
 * The lock is an operating system lock on the file `lock.db`. SQLite takes it, since Node has no call for file locks.
 * The lock ends with the process, however the process ends, so nothing has to be cleaned up after kill -9 or a power
 * cut. It works between containers with separate process ids, and a copy of the folder is not locked. The JSON file
 * `lock` beside it only names the holder.
 */
export class DataLock {
  readonly #database: DatabaseSync | null
  readonly #file: string

  private constructor(database: DatabaseSync | null, file: string) {
    this.#database = database
    this.#file = file
  }

  /**
   * Takes the lock, and creates the folder when it does not exist.
   *
   * @param warn called when the file system does not support locks; other servers are then not excluded
   * @throws StartupError naming the holder
   */
  static async acquire(
    dataDir: string,
    { address, clock, warn }: { address: string; clock: Clock; warn: (message: string) => void },
  ): Promise<DataLock> {
    await openDataFolder(dataDir)
    const file = join(dataDir, 'lock')
    const database = await lockFile(join(dataDir, 'lock.db'), {
      refuse: () => new StartupError(refusal(dataDir, readHolder(file))),
      warn: (reason) =>
        warn(`The data folder ${dataDir} can't be locked (${reason}); see that no second server uses it.`),
    })
    const holder: LockHolder = {
      pid: process.pid,
      host: hostname(),
      startedAt: clock.now().toISOString(),
      address,
    }
    try {
      writeFileSync(`${file}.new`, `${JSON.stringify(holder)}\n`, { mode: 0o600 })
      renameSync(`${file}.new`, file)
    } catch {
      // On a full disk the lock still holds, and a later step reports the full disk.
    }
    return new DataLock(database, file)
  }

  /** Releases the lock. */
  release(): void {
    if (!this.#database?.isOpen) return
    rmSync(this.#file, { force: true })
    this.#database.close()
  }
}

async function lockFile(
  file: string,
  { refuse, warn }: { refuse: () => StartupError; warn: (reason: string) => void },
): Promise<DatabaseSync | null> {
  const { DatabaseSync } = await import('node:sqlite')
  let database: DatabaseSync | null = null
  try {
    database = new DatabaseSync(file, { timeout: 0 })
    // The transaction never writes, so it needs no rollback journal on disk.
    database.exec('pragma journal_mode = memory; begin exclusive')
    return database
  } catch (error) {
    database?.close()
    const { errcode, message } = error as Error & { errcode?: number }
    if (errcode === SQLITE_BUSY) throw refuse()
    warn(message)
    return null
  }
}

function readHolder(file: string): LockHolder | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return null
  }
}

function refusal(dataDir: string, holder: LockHolder | null): string {
  const { pid, host, startedAt, address } = holder ?? {}
  const since = startedAt?.slice(0, 16).replace('T', ' ')
  const who = holder ? `process ${pid} on ${host} since ${since} UTC, at ${address}` : 'another process'
  return `The data folder ${dataDir} is served by ${who}: stop that, or choose another folder with --data.`
}
