import { readdir, readFile, readlink, rename, rm, stat, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { makeFolder } from '../../core/data/folders/make-folder.ts'
import { isId, newId } from '../../core/ids.ts'

/** The heartbeat interval of a process. */
const BEAT_MS = 3000
/** The time without a heartbeat after which a process counts as dead if its pid can't be checked. */
const SILENT_MS = 10_000

/** The content of a process's file. */
interface Mark {
  pid: number
  host: string
  /** The boot id of the system and its pid namespace, since a container has its own. Empty if unknown. */
  boot: string
  pidSpace: string
  /** The system's start time of the process, because pids are reused. */
  began: string
}

type Verdict = 'alive' | 'dead' | 'unsure'

/**
 * The processes of a data folder that may hold credits. Each has a file there while it lives. A starting process finds
 * the files of dead ones and releases their holds.
 */
export class Holders {
  /** The id of this process in its holds. */
  readonly id: string
  readonly #folder: string
  readonly #parts: Pick<FastifyInstance, 'clock' | 'log'>
  #release: (holder: string) => Promise<number> = async () => 0
  #mark = ''
  #beating: NodeJS.Timeout | undefined
  #looking: NodeJS.Timeout | undefined

  constructor(dataDir: string, parts: Pick<FastifyInstance, 'clock' | 'log'>) {
    this.id = newId('prc', parts.clock.now())
    this.#folder = join(dataDir, 'processes')
    this.#parts = parts
  }

  /** @param release releases all holds of a process, and returns their number */
  async start(release: (holder: string) => Promise<number>): Promise<void> {
    this.#release = release
    await makeFolder(this.#folder)
    const own = this.#fileOf(this.id)
    this.#mark = JSON.stringify(await ownMark())
    await writeFile(`${own}.new`, this.#mark)
    await rename(`${own}.new`, own)
    this.#beating = setInterval(() => void this.#beat(), BEAT_MS).unref()
    if (await this.#look()) this.#looking = setTimeout(() => void this.#lookAgain(), SILENT_MS + BEAT_MS).unref()
  }

  /** Releases the remaining holds of this process. Without a database the next process does it, by the file that stays. */
  async stop(): Promise<void> {
    clearInterval(this.#beating)
    clearTimeout(this.#looking)
    await this.#end(this.id).catch((error) =>
      this.#parts.log.warn({ err: error }, 'the reserved credits stay reserved until another process starts'),
    )
  }

  /** @returns whether the state of some process is unknown */
  async #look(): Promise<boolean> {
    await this.#beat()
    const own = await ownMark()
    let unsure = false
    for (const file of await readdir(this.#folder)) {
      const id = file.replace(/\.json$/, '')
      if (!isId('prc', id) || id === this.id) continue
      const verdict = await this.#verdictOn(id, own)
      if (verdict === 'unsure') unsure = true
      if (verdict === 'dead') await this.#end(id)
    }
    return unsure
  }

  async #lookAgain(): Promise<void> {
    await this.#look().catch((error) => this.#parts.log.warn({ err: error }, 'looking for dead processes failed'))
  }

  async #verdictOn(id: string, own: Mark): Promise<Verdict> {
    const mark = await readMark(this.#fileOf(id))
    const verdict = mark ? await lives(mark, own) : 'unsure'
    if (verdict !== 'unsure') return verdict
    // Both times are from the file system's clock, which may be another machine's.
    const [heartbeat, now] = await Promise.all([id, this.id].map((each) => stat(this.#fileOf(each)).catch(() => null)))
    if (!heartbeat || !now) return 'unsure'
    return now.mtimeMs - heartbeat.mtimeMs > SILENT_MS ? 'dead' : 'unsure'
  }

  async #end(id: string): Promise<void> {
    const holds = await this.#release(id)
    if (holds > 0) this.#parts.log.info({ holds }, 'released credits that an ended process had reserved')
    await rm(this.#fileOf(id), { force: true })
  }

  async #beat(): Promise<void> {
    // The write overwrites the file, so that nobody reads a partial one. Only its modification time matters.
    await writeFile(this.#fileOf(this.id), this.#mark, { flag: 'r+' }).catch(() => {})
  }

  #fileOf(id: string): string {
    return join(this.#folder, `${id}.json`)
  }
}

async function readMark(file: string): Promise<Mark | null> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Mark
  } catch {
    return null
  }
}

async function ownMark(): Promise<Mark> {
  const [boot, pidSpace, began] = await Promise.all([
    readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => ''),
    readlink('/proc/self/ns/pid').catch(() => ''),
    beganAt(process.pid),
  ])
  return { pid: process.pid, host: hostname(), boot: boot.trim(), pidSpace, began: began ?? '' }
}

async function lives(mark: Mark, own: Mark): Promise<Verdict> {
  if (mark.host === own.host && mark.boot !== own.boot) return 'dead'
  if (mark.host !== own.host || mark.pidSpace !== own.pidSpace) return 'unsure'
  return (await beganAt(mark.pid)) === mark.began ? 'alive' : 'dead'
}

/** Returns the start time of a local process; null when there is none, and empty if the system does not report it. */
async function beganAt(pid: number): Promise<string | null> {
  if (process.platform === 'linux') {
    const text = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => null)
    // The fields follow the name, which may contain spaces and brackets. The state is the third, the start time the
    // 22nd.
    const fields = text?.slice(text.lastIndexOf(')') + 2).split(' ')
    return fields && fields[0] !== 'Z' ? (fields[19] ?? '') : null
  }
  try {
    process.kill(pid, 0)
    return ''
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM' ? '' : null
  }
}
