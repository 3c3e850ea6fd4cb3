import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../folders/make-folder.ts'

const FILE = 'move.json'
/** Interval between two notes on the disk, in ms. */
const NOTE_MS = 1000

/**
 * Notes in the target's data folder up to which key the blobs of a move were copied and compared, so that an
 * interrupted move does not read them again.
 */
export class BlobCheckpoint {
  /** Whether an earlier run of the same move was interrupted. */
  readonly resumed: boolean
  /** All blobs up to this key are copied and compared; the empty text for none. */
  key: string
  readonly #file: string
  readonly #identity: string
  #noted = 0
  #writing: Promise<void> = Promise.resolve()
  #removed = false

  private constructor(file: string, identity: string, found: { key: string } | null) {
    this.#file = file
    this.#identity = identity
    this.resumed = found !== null
    this.key = found?.key ?? ''
  }

  /** @param identity of the source: a note about another one is ignored */
  static async open(dataDir: string, identity: string): Promise<BlobCheckpoint> {
    await makeFolder(dataDir)
    const file = join(dataDir, FILE)
    const found = await readFile(file, 'utf8')
      .then(JSON.parse)
      .catch(() => null)
    return new BlobCheckpoint(file, identity, found?.identity === identity ? found : null)
  }

  reach(key: string): void {
    this.key = key
    if (performance.now() - this.#noted < NOTE_MS) return
    this.#noted = performance.now()
    this.#write()
  }

  async flush(): Promise<void> {
    if (!this.#removed) this.#write()
    await this.#writing
  }

  async remove(): Promise<void> {
    this.#removed = true
    await this.#writing
    await rm(this.#file, { force: true })
  }

  #write(): void {
    const text = JSON.stringify({ identity: this.#identity, key: this.key })
    this.#writing = this.#writing
      .then(() => writeFile(`${this.#file}.new`, text, { mode: 0o600, flush: true }))
      .then(() => rename(`${this.#file}.new`, this.#file))
      .catch(() => {}) // without the note, the next run reads more
  }
}
