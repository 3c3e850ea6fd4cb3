import { createHash, randomUUID } from 'node:crypto'
import { appendFile, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { writePrivately } from '../config-folder.ts'

/** A started deploy in the journal. */
interface Begun {
  /** The `Idempotency-Key`. For a day, the same key and files return the same deploy. */
  key: string
  startedAt: string
}

/** Slightly shorter than the time for which the platform replays a response. */
const KEPT_MS = 23 * 3_600_000

/**
 * Records a deploy while it runs, so that the next attempt resumes where this one was cut off: its idempotency key, and
 * the files that have arrived. It holds no token and no upload address. Where the journal can't be written, deploys
 * still work but start from the beginning.
 */
export class Journal {
  readonly #file: string
  readonly #arrivals: string
  key: string
  /** Set when this journal resumes an earlier attempt. */
  resumedFrom: string | null = null

  private constructor(file: string, key: string) {
    this.#file = `${file}.json`
    this.#arrivals = `${file}.arrived`
    this.key = key
  }

  /**
   * Opens the journal of one deploy, which is identified by platform, account, game, files and message.
   *
   * @param folder the program's state folder
   * @param identity the identifying values
   */
  static async open(folder: string, identity: unknown): Promise<Journal> {
    const name = createHash('sha256').update(JSON.stringify(identity)).digest('hex').slice(0, 32)
    const journal = new Journal(join(folder, 'deploys', name), randomUUID())
    const begun = await readFile(journal.#file, 'utf8')
      .then(
        (text): Begun => JSON.parse(text),
        () => null,
      )
      .catch(() => null)
    if (begun && Date.now() - Date.parse(begun.startedAt) < KEPT_MS) {
      journal.key = begun.key
      journal.resumedFrom = begun.startedAt
    } else await journal.restart()
    return journal
  }

  /** Discards an earlier attempt and begins a new one. */
  async restart(): Promise<void> {
    await this.end()
    this.key = randomUUID()
    this.resumedFrom = null
    const begun: Begun = { key: this.key, startedAt: new Date().toISOString() }
    await writePrivately(this.#file, JSON.stringify(begun)).catch(() => {})
  }

  /** Returns the digests of the files uploaded for a deploy, without those of other deploys. */
  async arrived(deployId: string): Promise<Set<string>> {
    const text = await readFile(this.#arrivals, 'utf8').catch(() => '')
    // An incomplete line has another length and is no digest.
    const lines = text.split('\n').map((line) => line.split(' '))
    return new Set(
      lines.filter(([id, sha256]) => id === deployId && sha256?.length === 64).map(([, sha256]) => sha256 as string),
    )
  }

  async note(deployId: string, digests: string[]): Promise<void> {
    const lines = digests.map((sha256) => `${deployId} ${sha256}\n`).join('')
    await appendFile(this.#arrivals, lines, { mode: 0o600 }).catch(() => {})
  }

  /** Removes the journal after the deploy has ended. */
  async end(): Promise<void> {
    for (const file of [this.#file, this.#arrivals]) await rm(file, { force: true }).catch(() => {})
  }
}
