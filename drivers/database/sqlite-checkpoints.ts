import type Sqlite from 'better-sqlite3'
import type { DriverContext } from '../../core/driver.ts'
import { WorkerPool } from '../../core/jobs/worker-pool.ts'
import { addonPath } from './sqlite-native.ts'

export interface CheckpointRequest {
  file: string
  /** The path of the native library that this process has loaded. */
  addon: string
  synchronous: 'full' | 'normal'
}

/**
 * The length of the write-ahead log in pages at which a commit itself copies it into the database. That commit, and
 * a writer that waits behind it, takes the longest of all. A longer log makes it rarer, and little slower, since most pages
 * recur in the log; readers look up one index for each 4,062 pages.
 */
const OWN_PAGES = 4000
/** The same while a thread copies the log: it gets so long only if the thread does not keep up. */
const THREAD_PAGES = 16_000
/** Writes after which the thread copies the log: some hundred pages, so that no copy occupies the disk for long. */
const WRITES = 50
/** The thread copies when the database was written that often in this time. A quiet server needs no thread. */
const BUSY_MS = 10_000
const IDLE_MS = 60_000
/** The time without a thread after one has failed. */
const PAUSE_MS = 60_000

const PROGRAM = 'sqlite-checkpoints'

/**
 * Copies the write-ahead log of a database that is written much in a thread of its own. A commit would otherwise do it
 * now and then, and block the process for tens of milliseconds.
 */
export class Checkpoints {
  readonly #writer: Sqlite.Database
  readonly #pool: WorkerPool<CheckpointRequest, null> | null
  readonly #request: CheckpointRequest
  readonly #log: DriverContext['log']
  #writes = 0
  #since = Number.NEGATIVE_INFINITY
  #running = false
  #pausedUntil = Number.NEGATIVE_INFINITY
  #closing = false
  #byThread = false

  /**
   * @param writer the writing connection of this process
   * @param context without `workerProgram`, or where the library can't be loaded in a thread, commits copy the log
   */
  constructor(
    writer: Sqlite.Database,
    { file, synchronous }: Omit<CheckpointRequest, 'addon'>,
    { log, workerProgram }: Pick<DriverContext, 'log' | 'workerProgram'>,
  ) {
    this.#writer = writer
    this.#log = log
    const addon = addonPath()
    this.#request = { file, synchronous, addon: addon ?? '' }
    this.#pool =
      addon && workerProgram
        ? new WorkerPool({ name: PROGRAM, program: () => workerProgram(PROGRAM), idleMs: IDLE_MS, endsItself: true })
        : null
    this.#setOwnPages(OWN_PAGES)
  }

  /** Counts a write, and begins a checkpoint if there were many. The caller holds the writing connection. */
  noteWrite(): void {
    if (++this.#writes < WRITES || this.#running || !this.#pool) return
    this.#writes = 0
    const now = performance.now()
    const isBusy = now - this.#since < BUSY_MS && now >= this.#pausedUntil
    this.#since = now
    if (isBusy) void this.#run(this.#pool)
    else if (this.#byThread) this.#setByThread(false)
  }

  async #run(pool: WorkerPool<CheckpointRequest, null>): Promise<void> {
    this.#running = true
    try {
      await pool.run(this.#request)
      this.#setByThread(true)
    } catch (error) {
      if (this.#closing) return
      this.#log.warn({ err: error }, 'a thread could not copy the write-ahead log; commits copy it for a minute')
      this.#pausedUntil = performance.now() + PAUSE_MS
      this.#setByThread(false)
    } finally {
      this.#running = false
    }
  }

  #setByThread(byThread: boolean): void {
    if (byThread === this.#byThread || !this.#writer.open) return
    this.#byThread = byThread
    this.#setOwnPages(byThread ? THREAD_PAGES : OWN_PAGES)
  }

  #setOwnPages(pages: number): void {
    this.#writer.pragma(`wal_autocheckpoint = ${pages}`)
  }

  /** Ends the thread. It must end before the writing connection is closed, which then makes the last checkpoint. */
  async close(): Promise<void> {
    this.#closing = true
    await this.#pool?.close()
  }
}
