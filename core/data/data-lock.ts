import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '../clock.ts'
import { StartupError } from '../errors.ts'
import { openDataFolder } from './data-folder.ts'
import { FileLock } from './sharing/file-lock.ts'

/** The process that uses a data folder, as recorded in the file `lock`. */
export interface LockHolder {
  pid: number
  host: string
  /** ISO 8601, UTC. */
  startedAt: string
  /** Address of the portal. */
  address: string
  /** The number of processes that it supervises; absent for one that serves alone. */
  processes?: number
}

interface LockOptions extends Pick<LockHolder, 'address' | 'processes'> {
  clock: Clock
  warn: (message: string) => void
}

/**
 * Guarantees that only one server uses a data folder.
 *
 * The lock is an operating system lock on the file `lock.db`. It ends with the process, however the process ends, so
 * nothing has to be cleaned up after kill -9 or a power cut. A copy of the folder is not locked. The JSON file `lock`
 * beside it only names the holder.
 */
export class DataLock {
  readonly #lock: FileLock | null
  readonly #file: string

  private constructor(lock: FileLock | null, file: string) {
    this.#lock = lock
    this.#file = file
  }

  /**
   * Takes the lock, and creates the folder when it does not exist.
   *
   * @param warn called when the file system does not support locks; other servers are then not excluded
   * @throws StartupError naming the holder
   */
  static async acquire(dataDir: string, { address, processes, clock, warn }: LockOptions): Promise<DataLock> {
    await openDataFolder(dataDir)
    const file = join(dataDir, 'lock')
    let lock: FileLock | null = null
    try {
      lock = await FileLock.take(join(dataDir, 'lock.db'))
      if (!lock) throw new StartupError(refusal(dataDir, readHolder(dataDir)))
    } catch (error) {
      if (error instanceof StartupError) throw error
      const { message } = error as Error
      warn(`The data folder ${dataDir} can't be locked (${message}); see that no second server uses it.`)
    }
    const holder: LockHolder = {
      pid: process.pid,
      host: hostname(),
      startedAt: clock.now().toISOString(),
      address,
      ...(processes === undefined ? {} : { processes }),
    }
    try {
      writeFileSync(`${file}.new`, `${JSON.stringify(holder)}\n`, { mode: 0o600 })
      renameSync(`${file}.new`, file)
    } catch {
      // On a full disk the lock still holds, and a later step reports the full disk.
    }
    return new DataLock(lock, file)
  }

  /** Releases the lock. */
  release(): void {
    if (!this.#lock?.isHeld) return
    rmSync(this.#file, { force: true })
    this.#lock.release()
  }
}

/** Returns who uses a data folder, or used it last if that was killed; null when nobody is known to. */
export function readHolder(dataDir: string): LockHolder | null {
  try {
    return JSON.parse(readFileSync(join(dataDir, 'lock'), 'utf8'))
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
