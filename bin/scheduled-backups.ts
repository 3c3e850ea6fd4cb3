import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { access, constants, readdir, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import type { FastifyInstance } from 'fastify'
import { Gauge } from 'prom-client'
import type { LoadedConfig } from '../config/load.ts'
import { makeFolder, notWritable } from '../core/data/folders/make-folder.ts'
import { StartupError } from '../core/errors.ts'
import type { Storage } from '../drivers/storage/interface.ts'
import { describeBackup, openDriverOf } from './open-driver.ts'

const run = promisify(execFile)

declare module '../core/events.ts' {
  interface DomainEvents {
    /** `at`: ISO 8601, UTC */
    'backup.ended': { state: 'ok' | 'warning'; message: string; at: string }
  }
}

/** The name contains the time, so that names sort by age. */
const NAME = /^gameyard-\d{8}T\d{6}Z\.tar$/
/**
 * What `gameyard backup --verify` leaves when it is killed: the folder that it works in. Earlier versions left an
 * unverified file and two folders.
 */
const REMAINS = /^(?:gameyard-\d{8}T\d{6}Z\.tar(?:-\w{6}|\.unverified(?:-\w{6})?)|\.gameyard-\d{8}T\d{6}Z\.tar-\w{6})$/

/** A destination for backups. */
interface Shelf {
  names(): Promise<string[]>
  /** Moves a finished file into the destination. */
  add(name: string, file: string): Promise<void>
  remove(name: string): Promise<void>
}

/** The folder that the backup process writes into, and the destination, which is opened at its first use. */
interface Place {
  folder: string
  /** Whether a finished file in `folder` is a kept backup. */
  keeps: boolean
  /** Rejects when backups can't be written there. A bucket shows that when its names are listed. */
  check?(): Promise<void>
  shelf(): Promise<Shelf>
}

/**
 * Makes backups on the schedule of the configuration. Each backup runs this program in a separate process, so that
 * reading all data twice delays no request. A backup counts once it has been restored into a scratch folder and read
 * through. A backup that was due while the platform was off is made soon after the start. The platform also starts while
 * the destination can't be reached; the administrators are told.
 *
 * @param command this program with the arguments of `gameyard backup` that name the configuration, without the output
 *   file
 */
export async function scheduleBackups(
  app: FastifyInstance,
  loaded: LoadedConfig,
  command: (file: string) => [string, ...string[]],
): Promise<void> {
  const { schedule, keep, to } = loaded.config.backup
  if (!schedule) return
  app.events.on('backup.ended', ({ state, message, at }) => {
    app.health.notes.set('backup', { state, message, at: new Date(at) })
  })
  if (app.siblings.number > 1) return // one process of the machine makes them
  const { Cron } = await import('croner')
  const backups = new Backups(app, { keep, command, place: placeOf(to, loaded) })
  const job = new Cron(schedule, { unref: true, protect: true }, () => backups.run())
  const [due] = job.previousRuns(1)
  await backups.check()
  if (due && (await backups.lacks(due))) setTimeout(() => void job.trigger(), 5000).unref()
}

class Backups {
  readonly #app: FastifyInstance
  readonly #place: Place
  readonly #keep: number
  readonly #command: (file: string) => [string, ...string[]]
  readonly #finished: Gauge

  constructor(
    app: FastifyInstance,
    parts: { place: Place; keep: number; command: (file: string) => [string, ...string[]] },
  ) {
    this.#app = app
    this.#place = parts.place
    this.#keep = parts.keep
    this.#command = parts.command
    this.#finished = new Gauge({
      name: 'gameyard_backup_last_success_timestamp_seconds',
      help: 'When the latest scheduled backup was verified and kept, since 1970.',
      registers: [app.metrics],
    })
  }

  /** Tells the administrators at the start, and not only after the first night, that the folder takes no backups. */
  async check(): Promise<void> {
    try {
      await this.#place.check?.()
    } catch (error) {
      await this.#cannotReach(error)
    }
  }

  /** Whether there is no backup since an instant; false when the destination can't be reached, after a warning. */
  async lacks(since: Date): Promise<boolean> {
    try {
      const latest = (await namesOn(await this.#place.shelf())).at(-1)
      return !latest || timeOfBackup(latest) < since
    } catch (error) {
      await this.#cannotReach(error)
      return false
    }
  }

  async #cannotReach(error: unknown): Promise<void> {
    this.#app.log.error({ err: error }, 'the destination of the scheduled backups cannot be used')
    await this.#note('warning', `The destination of the scheduled backups can’t be used: ${sentenceOf(error)}`)
  }

  async run(): Promise<void> {
    const { clock, log } = this.#app
    const name = nameAt(clock.now())
    if (!(await this.#isFirst(name))) return
    try {
      const summary = await this.#make(name)
      await this.#note('ok', `The latest backup holds ${describeBackup(summary)}.`)
      this.#finished.set(Math.floor(clock.now().getTime() / 1000))
      log.info(summary, 'backup made and verified')
    } catch (error) {
      const message = `The scheduled backup failed: ${sentenceOf(error)}`
      await this.#note('warning', message)
      log.error({ err: error }, 'the scheduled backup failed')
      await this.#tell(message).catch((err) => log.error({ err }, 'the mail about the failed backup could not be sent'))
    }
  }

  /** While a process is replaced there are two that keep the schedule. */
  async #isFirst(name: string): Promise<boolean> {
    const minute = name.slice(0, -'00Z.tar'.length)
    const { count } = await this.#app.bus.increment(`backup/${minute}`, 3_600_000).catch(() => ({ count: 1 }))
    return count === 1
  }

  /** Tells the administrators on the pages of every process. */
  #note(state: 'ok' | 'warning', message: string): Promise<void> {
    return this.#app.events.emit('backup.ended', { state, message, at: this.#app.clock.now().toISOString() })
  }

  async #make(name: string): Promise<{ blobs: number; bytes: number }> {
    const { folder } = this.#place
    const shelf = await this.#place.shelf()
    await makeFolder(folder)
    await this.#removeInterrupted(name)
    const file = join(folder, name)
    const [program, ...arguments_] = this.#command(file)
    const child = run(program, arguments_)
    const end = () => void child.child.kill()
    process.once('exit', end)
    const { stdout } = await child.finally(() => process.removeListener('exit', end))
    await shelf.add(name, file)
    for (const old of (await namesOn(shelf)).slice(0, -this.#keep)) await shelf.remove(old)
    return JSON.parse(stdout)
  }

  /** Removes what backups left that a restart interrupted, since each has the size of the platform's data. */
  async #removeInterrupted(current: string): Promise<void> {
    const { folder, keeps } = this.#place
    for (const name of await readdir(folder)) {
      const interrupted = REMAINS.test(name) || (!keeps && NAME.test(name))
      if (interrupted && !name.includes(current)) await rm(join(folder, name), { recursive: true, force: true })
    }
  }

  async #tell(message: string): Promise<void> {
    const { site, identity } = this.#app
    const text = `${message}\n\nThe backups before it are kept as they are. The log of ${site.portalUrl} has more.\n`
    await identity?.writeToAdmins(`A backup of ${site.name} failed`, text)
  }
}

/** Returns the names of backups, the oldest first. */
export const namesOfBackups = (names: string[]): string[] => names.filter((name) => NAME.test(name)).sort()

const namesOn = async (shelf: Shelf) => namesOfBackups(await shelf.names())

/** Requires a folder in which this process can write; it is created if it is missing. @throws StartupError */
async function mustTakeFiles(folder: string): Promise<void> {
  await makeFolder(folder)
  await access(folder, constants.W_OK).catch((error) => {
    throw new StartupError(`${notWritable(folder, error)}: give the platform's user the right, or change backup.to.`)
  })
}

/** The backup process always writes into `folder`; for a bucket, the file is uploaded from there. */
function placeOf(to: LoadedConfig['config']['backup']['to'], loaded: LoadedConfig): Place {
  if (typeof to === 'string') {
    const folder = resolve(loaded.configDir, to)
    const shelf: Shelf = {
      names: () => readdir(folder).catch(() => []),
      add: async () => {}, // the file is already in place
      remove: (name) => rm(join(folder, name), { force: true }),
    }
    return { folder, keeps: true, check: () => mustTakeFiles(folder), shelf: async () => shelf }
  }
  let opening: Promise<Shelf> | undefined
  const shelf = () => {
    opening ??= openBucket(to, loaded).catch((error) => {
      opening = undefined // the next backup tries again
      throw error
    })
    return opening
  }
  return { folder: join(loaded.config.dataDir, 'backup-under-way'), keeps: false, shelf }
}

async function openBucket(
  { driver: _driver, ...options }: Exclude<LoadedConfig['config']['backup']['to'], string>,
  loaded: LoadedConfig,
): Promise<Shelf> {
  const { default: s3 } = await import('../drivers/storage/s3.ts')
  const bucket = await openDriverOf<Storage>(s3, options, loaded)
  return {
    async names() {
      const names: string[] = []
      for await (const { key } of bucket.list('gameyard-')) names.push(key)
      return names
    },
    async add(name, file) {
      try {
        await bucket.put(name, createReadStream(file), { sha256: await digestOf(file), size: (await stat(file)).size })
      } finally {
        await rm(file, { force: true })
      }
    },
    remove: (name) => bucket.delete(name),
  }
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}

/** Returns the one-sentence output of `gameyard backup`, or the message of the error. */
function sentenceOf(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message: string }
  const [line = message] = (stderr ?? '')
    .split('\n')
    .filter((text) => text !== '' && !text.startsWith('{'))
    .slice(-1)
  return line
}

const nameAt = (time: Date) => `gameyard-${time.toISOString().replace(/[-:]|\.\d+/g, '')}.tar`

/** Returns the time in the name of a backup. */
export const timeOfBackup = (name: string): Date =>
  new Date(name.replace(/^.*-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z.*$/, '$1-$2-$3T$4:$5:$6Z'))
