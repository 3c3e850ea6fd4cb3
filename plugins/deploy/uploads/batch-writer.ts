/** A file whose bytes have the digest. */
export interface VerifiedFile {
  sha256: string
  bytes: Buffer
}

/** Files up to this size are stored in batches. */
export const BATCHED_FILE_BYTES = 1024 ** 2
const BATCH_BYTES = 4 * 1024 ** 2
const BATCH_FILES = 1024

/**
 * Collects small files and stores them in batches. While one batch is stored, the next is collected, so at most two are
 * in memory.
 */
export class BatchWriter {
  readonly #store: (files: VerifiedFile[]) => Promise<void>
  #files: VerifiedFile[] = []
  #bytes = 0
  #storing: Promise<void> = Promise.resolve()

  /** @param store stores and records a batch; the files count when it resolves */
  constructor(store: (files: VerifiedFile[]) => Promise<void>) {
    this.#store = store
  }

  /** Adds a file, and waits while two batches are full. @throws the error of an earlier batch */
  async add(file: VerifiedFile): Promise<void> {
    this.#files.push(file)
    this.#bytes += file.bytes.length
    if (this.#bytes >= BATCH_BYTES || this.#files.length >= BATCH_FILES) await this.#next()
  }

  /** Stores what is left. When it resolves, all files count. */
  async finish(): Promise<void> {
    await this.#next()
    await this.#storing
  }

  async #next(): Promise<void> {
    await this.#storing
    const files = this.#files
    this.#files = []
    this.#bytes = 0
    if (files.length === 0) return
    this.#storing = this.#store(files)
    // The error is thrown where the batch is awaited.
    this.#storing.catch(() => {})
  }
}
