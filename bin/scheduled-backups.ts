import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import type { FastifyInstance } from 'fastify'
import { Gauge } from 'prom-client'
import type { LoadedConfig } from '../config/load.ts'
import type { Storage } from '../drivers/storage/interface.ts'
import { describeBackup, openDriverOf } from './open-driver.ts'

const run = promisify(execFile)

/** The name contains the time, so that names sort by age. */
const NAME = /^gameyard-\d{8}T\d{6}Z\.tar$/

/** A destination for backups. */
interface Shelf {
  names(): Promise<string[]>
  /** Moves a finished file into the destination. */
  add(name: string, file: string): Promise<void>
  remove(name: string): Promise<void>
}

/**
 * Makes backups on the schedule of the configuration. Each backup runs this program in a separate process, so that
 * reading all data twice delays no request. A backup counts once it has been restored into a scratch folder and read
 * through. A backup that was due while the platform was off is made soon after the start.
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
  const { Cron } = await import('croner')
  const backups = new Backups(app, { keep, command, ...(await shelfOf(to, loaded)) })
  const job = new Cron(schedule, { unref: true, protect: true }, () => backups.run())
  const due = job.previousRuns(1)[0]
  const latest = (await backups.names()).at(-1)
  if (due && (!latest || timeOf(latest) < due)) setTimeout(() => void job.trigger(), 5000).unref()
}

class Backups {
  readonly #app: FastifyInstance
  readonly #folder: string
  readonly #shelf: Shelf
  readonly #keep: number
  readonly #command: (file: string) => [string, ...string[]]
  readonly #finished: Gauge

  constructor(
    app: FastifyInstance,
    parts: { folder: string; shelf: Shelf; keep: number; command: (file: string) => [string, ...string[]] },
  ) {
    this.#app = app
    this.#folder = parts.folder
    this.#shelf = parts.shelf
    this.#keep = parts.keep
    this.#command = parts.command
    this.#finished = new Gauge({
      name: 'gameyard_backup_last_success_timestamp_seconds',
      help: 'When the latest scheduled backup was verified and kept, since 1970.',
      registers: [app.metrics],
    })
  }

  async names(): Promise<string[]> {
    return (await this.#shelf.names()).filter((name) => NAME.test(name)).sort()
  }

  async run(): Promise<void> {
    const { clock, health, log } = this.#app
    try {
      const summary = await this.#make(nameAt(clock.now()))
      const message = `The latest backup holds ${describeBackup(summary)}.`
      health.notes.set('backup', { state: 'ok', message, at: clock.now() })
      this.#finished.set(Math.floor(clock.now().getTime() / 1000))
      log.info(summary, 'backup made and verified')
    } catch (error) {
      const message = `The scheduled backup failed: ${sentenceOf(error)}`
      health.notes.set('backup', { state: 'warning', message, at: clock.now() })
      log.error({ err: error }, 'the scheduled backup failed')
      await this.#tell(message).catch((err) => log.error({ err }, 'the mail about the failed backup could not be sent'))
    }
  }

  async #make(name: string): Promise<{ blobs: number; bytes: number }> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    const file = join(this.#folder, name)
    const [program, ...arguments_] = this.#command(file)
    const child = run(program, arguments_)
    const end = () => void child.child.kill()
    process.once('exit', end)
    const { stdout } = await child.finally(() => process.removeListener('exit', end))
    await this.#shelf.add(name, file)
    for (const old of (await this.names()).slice(0, -this.#keep)) await this.#shelf.remove(old)
    return JSON.parse(stdout)
  }

  async #tell(message: string): Promise<void> {
    const { site, identity } = this.#app
    const text = `${message}\n\nThe backups before it are kept as they are. The log of ${site.portalUrl} has more.\n`
    await identity?.writeToAdmins(`A backup of ${site.name} failed`, text)
  }
}

/** The backup process always writes into `folder`; for a bucket, the file is uploaded from there. */
async function shelfOf(to: LoadedConfig['config']['backup']['to'], loaded: LoadedConfig) {
  if (typeof to === 'string') {
    const folder = resolve(loaded.configDir, to)
    const shelf: Shelf = {
      names: () => readdir(folder).catch(() => []),
      add: async () => {}, // the file is already in place
      remove: (name) => rm(join(folder, name), { force: true }),
    }
    return { folder, shelf }
  }
  const { driver: _driver, ...options } = to
  const { default: s3 } = await import('../drivers/storage/s3.ts')
  const bucket = await openDriverOf<Storage>(s3, options, loaded)
  const shelf: Shelf = {
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
  return { folder: join(loaded.config.dataDir, 'backup-under-way'), shelf }
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

const timeOf = (name: string) =>
  new Date(name.replace(/^.*-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z.*$/, '$1-$2-$3T$4:$5:$6Z'))
