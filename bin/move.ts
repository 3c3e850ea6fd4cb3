import { randomBytes } from 'node:crypto'
import { access } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import type { LoadedConfig } from '../config/load.ts'
import { processCount } from '../config/processes.ts'
import { schemaOf } from '../core/boot/database.ts'
import { systemClock } from '../core/clock.ts'
import { DataLock, readHolder } from '../core/data/data-lock.ts'
import type { DatabaseDriver } from '../core/data/database.ts'
import { type MoveSummary, move, type Place, type WriteStop } from '../core/data/moving/move.ts'
import { BusChannel, FolderChannel, StopSender } from '../core/data/moving/write-stop.ts'
import { StartupError } from '../core/errors.ts'
import type { Bus } from '../core/events.ts'
import { formatBytes } from '../core/format-bytes.ts'
import { createLog } from '../core/observe/log.ts'
import type { Storage } from '../drivers/storage/interface.ts'
import { mustOwnData } from './data-folder-owner.ts'
import { moveProgress } from './move-progress.ts'
import { openDriver } from './open-driver.ts'
import { type ConfigOptions, loadProgramConfig, loadTargetConfig } from './options.ts'

/** Maximum wait for an answer of the platform, in ms. A busy process finishes its open transactions first. */
const ANSWER_MS = 10_000

/**
 * Growth of the heap before it is collected, in percent. V8 chooses half and more, which pays where objects survive. What
 * a move reads does not, so this keeps its memory small.
 */
const HEAP_GROWTH = 20

/**
 * Moves the platform of one configuration to that of another file.
 *
 * @throws StartupError
 */
export async function movePlatform(options: ConfigOptions, to: string): Promise<MoveSummary> {
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH}`)
  const from = await loadProgramConfig(options)
  const into = await loadTargetConfig(to)
  const { dataDir } = from.config
  // The processes read its requests in the data folder, and start on what it makes for the target.
  await mustOwnData(dataDir)
  await access(dataDir).catch(() => {
    throw new StartupError(`There is no data folder ${dataDir} to move; name another with --data or --config.`)
  })
  const progress = moveProgress()
  const [source, target] = [await openPlace(from), await openPlace(into)]
  const writeStop = await PlatformStop.open(from, source.database.shared)
  try {
    const same = samePlaces(from, into, source, target)
    if (same.database && same.storage)
      throw new StartupError(`${to} has the same database and the same storage: there is nothing to move.`)
    const log = createLog('warn', process.stderr)
    const schema = schemaOf(from.plugins, from.disabled)
    return await move({ source, target, same, ...schema, clock: systemClock, log, progress, writeStop })
  } finally {
    progress.end()
    await writeStop.close()
    await Promise.all([source.storage.close(), target.storage.close()])
  }
}

/** Describes a finished move in a few lines. */
export function describeMove({ tables, rows, blobs, bytes, stoppedMs }: MoveSummary, to: string): string {
  return `Moved and compared ${rows} rows of ${tables} tables and ${blobs} files, ${formatBytes(bytes)}. No changes were accepted for ${(stoppedMs / 1000).toFixed(1)} s.
Stop the platform, if it runs, and start it with: gameyard serve --config ${to}`
}

type OpenedPlace = Place & { storage: Storage }

async function openPlace(loaded: LoadedConfig): Promise<OpenedPlace> {
  const { dataDir, secret } = loaded.config
  const database = await openDriver<DatabaseDriver>(loaded, 'database', dataDir)
  const storage = await openDriver<Storage>(loaded, 'storage', dataDir)
  return { database, storage, dataDir, secret }
}

/** A service is the same when its section is; a file or folder, when the data folder is the same too. */
function samePlaces(from: LoadedConfig, into: LoadedConfig, source: OpenedPlace, target: OpenedPlace) {
  const sameFolder = resolve(from.config.dataDir) === resolve(into.config.dataDir)
  const sameSection = (family: 'database' | 'storage') =>
    JSON.stringify(from.config[family]) === JSON.stringify(into.config[family])
  return {
    database: sameSection('database') && (sameFolder || (source.database.shared && target.database.shared)),
    storage: sameSection('storage') && (sameFolder || Boolean(source.storage.remote && target.storage.remote)),
  }
}

/**
 * Keeps the processes of a platform from writing. Nodes are asked over their bus, and the processes of one data folder by a
 * file in it: this command can't know the number that `gameyard serve --processes` was given, and so whether they have a
 * bus. A platform that does not run is kept from starting.
 */
class PlatformStop implements WriteStop {
  readonly #loaded: LoadedConfig
  readonly #bus: Bus | null
  readonly #sender: StopSender
  #lock: DataLock | null = null
  #asked = false

  /** @param shared whether several machines can use the database; if not, all processes have this data folder */
  static async open(loaded: LoadedConfig, shared: boolean): Promise<PlatformStop> {
    const ofNodes = shared && loaded.drivers.bus?.driver.name !== 'ipc'
    const bus = ofNodes ? await openDriver<Bus>(loaded, 'bus', loaded.config.dataDir) : null
    return new PlatformStop(loaded, bus?.shared ? bus : null)
  }

  /** @param bus of the nodes; null when they share the data folder */
  private constructor(loaded: LoadedConfig, bus: Bus | null) {
    this.#loaded = loaded
    this.#bus = bus
    const channel = bus ? new BusChannel(bus) : new FolderChannel(loaded.config.dataDir)
    this.#sender = new StopSender(channel, randomBytes(9).toString('base64url'))
  }

  begin(): Promise<void> {
    return this.#bus ? this.#stopNodes() : this.#stopFolder()
  }

  async #stopNodes(): Promise<void> {
    this.#asked = true
    const { config } = this.#loaded
    const expected = processCount(config, { cores: availableParallelism(), path: process.env.PATH }) ?? 1
    const { stopped, silent } = await this.#sender.stop(ANSWER_MS, expected)
    refuseSilent(silent)
    if (stopped === 0) console.error('No node has answered, so the platform is taken to be stopped.')
    else if (stopped < expected)
      console.error(`${stopped} of ${expected} processes have answered; the others are taken to be stopped.`)
  }

  /** Waits as long as a process may still write: until all have answered, however late, or the platform has ended. */
  async #stopFolder(): Promise<void> {
    if (await this.#takeFolder()) return
    this.#asked = true
    const expected = readHolder(this.#loaded.config.dataDir)?.processes ?? 1
    const { stopped } = await this.#sender.stop(ANSWER_MS, expected)
    if (stopped >= expected) return
    const who = stopped === 0 ? 'The platform does' : `${expected - stopped} of ${expected} processes do`
    console.error(
      `${who} not answer: stop it if it hangs. The last step begins when all have answered or it has stopped.`,
    )
    while (!(await this.#takeFolder())) {
      if ((await this.#sender.result()).stopped >= expected) return
      await sleep(500)
    }
  }

  async cancel(): Promise<void> {
    if (this.#asked) await this.#sender.cancel()
    this.#asked = false
  }

  async complete(): Promise<void> {
    if (!this.#asked) return
    // A node may have started since.
    refuseSilent((await this.#sender.result()).silent)
    let isTold = false
    for (;;) {
      const state = await this.#sender.complete(ANSWER_MS)
      if (state === 'complete') break
      if (state === 'lapsed')
        throw new StartupError(
          'A process accepts changes again, since it had not heard from this command for 15 seconds: run the same command again.',
        )
      if (this.#bus)
        throw new StartupError(
          'A process that had stopped writing no longer answers: stop every one that hangs, and run the same command again.',
        )
      // It writes no more, as long as the request is repeated. If it ends, it can't start while this has the folder.
      if (await this.#takeFolder()) return this.cancel()
      if (!isTold)
        console.error('A process that has stopped writing does not answer yet: stop the platform if it hangs.')
      isTold = true
    }
    this.#asked = false
  }

  async close(): Promise<void> {
    await this.cancel().catch(() => {})
    this.#lock?.release()
    await this.#bus?.close()
  }

  /** @returns false while a server has the data folder */
  async #takeFolder(): Promise<boolean> {
    const { dataDir, portal } = this.#loaded.config
    const warn = (message: string) => console.error(message)
    this.#lock = await DataLock.acquire(dataDir, { address: portal.url, clock: systemClock, warn }).catch(() => null)
    return this.#lock !== null
  }
}

/** @throws StartupError when nodes that are connected to the bus may still write */
function refuseSilent(silent: number): void {
  if (silent === 0) return
  const nodes =
    silent === 1 ? 'A node that is connected to the bus has' : `${silent} nodes that are connected to the bus have`
  throw new StartupError(`${nodes} not stopped writing: stop every node that hangs, and run the same command again.`)
}
