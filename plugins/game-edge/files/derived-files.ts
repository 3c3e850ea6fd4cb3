import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { Digested } from '../../../core/data/disk-cache.ts'
import { CodingNotAccepted } from '../errors.ts'
import type { Derived, GameBlob, GameBlobs } from './blobs.ts'
import type { Coding } from './codings.ts'
import type { LargeFile } from './large-files.ts'
import { decoder, encoder, transformed } from './streams.ts'

/** The maximum size of a decoded file, which is the default maximum of any file of a deploy. */
const DECODED_BYTES = 512 * 1024 * 1024
/** The maximum size of a file that is compressed here, as at a deploy. */
const COMPRESSED_BYTES = 64 * 1024 * 1024
/** The maximum number of files whose derived size is remembered. */
const REMEMBERED = 10_000

const BOTH: readonly Coding[] = ['br', 'gzip']
const NONE: readonly Coding[] = []

/**
 * Forms of files that are made here: decoded ones, for clients that do not accept the coding of the maker, and
 * compressed ones of large files with the platform's additions. The content of a file never changes, so the digest and
 * the size of a form are determined once, and its bytes are copies in the disk cache, like those of a remote storage.
 */
export class DerivedFiles {
  readonly #blobs: GameBlobs
  readonly #keptBytes: number
  readonly #found = new Map<string, Promise<GameBlob | 'invalid' | 'too large'>>()

  /** @param cacheBytes the size of the disk cache, which keeps no file above its half */
  constructor(blobs: GameBlobs, cacheBytes: number) {
    this.#blobs = blobs
    this.#keptBytes = Math.floor(cacheBytes / 2)
  }

  /**
   * Returns the decoded form of a file.
   *
   * @throws CodingNotAccepted if the file is not what its name says, or its content is too large
   */
  async decoded({ sha256, size }: Digested, coding: Coding): Promise<GameBlob> {
    const result = await this.#once(
      `${coding} ${sha256}`,
      { source: () => this.#blobs.open({ sha256, size }), through: () => decoder(coding) },
      Math.min(DECODED_BYTES, this.#keptBytes),
    )
    if (typeof result !== 'string') return result
    const reason = result === 'invalid' ? 'its content is not in that coding' : 'it is too large to be decoded here'
    throw new CodingNotAccepted(coding, reason).with({
      headers: { 'cache-control': 'no-store', vary: 'accept-encoding' },
    })
  }

  /** Returns the codings in which a large file can be sent. */
  codingsOf({ size }: LargeFile): readonly Coding[] {
    return size <= Math.min(COMPRESSED_BYTES, this.#keptBytes) ? BOTH : NONE
  }

  /** Returns the compressed form of a large file, in one of its codings. */
  async compressed(file: LargeFile, coding: Coding): Promise<GameBlob> {
    const made = { source: () => file.open(), through: () => encoder(coding, file.size) }
    const result = await this.#once(`to ${coding} ${file.sha256}`, made, Infinity)
    if (typeof result === 'string') throw new Error(`A file could not be compressed: ${result}.`)
    return result
  }

  #once(key: string, derived: Derived, maxBytes: number): Promise<GameBlob | 'invalid' | 'too large'> {
    let found = this.#found.get(key)
    if (!found) {
      found = this.#measure(derived, maxBytes)
      found.catch(() => this.#found.delete(key))
      const [oldest] = this.#found.keys()
      if (this.#found.size >= REMEMBERED) this.#found.delete(oldest as string)
      this.#found.set(key, found)
    }
    return found
  }

  async #measure(derived: Derived, maxBytes: number): Promise<GameBlob | 'invalid' | 'too large'> {
    const end = await this.#blobs.deriving.take()
    try {
      const source = await derived.source()
      const form = derived.through()
      // An error of one ends the other with the same error.
      let failed: Readable | undefined
      for (const stream of [source, form]) stream.once('error', () => (failed ??= stream))
      const hash = createHash('sha256')
      let size = 0
      try {
        for await (const chunk of transformed(source, form) as AsyncIterable<Buffer>) {
          size += chunk.length
          if (size > maxBytes) return 'too large'
          hash.update(chunk)
        }
      } catch (error) {
        // An error of the storage is none of the file.
        if (failed === source) throw error
        return 'invalid'
      }
      return { sha256: hash.digest('hex'), size, derived }
    } finally {
      end()
    }
  }
}
