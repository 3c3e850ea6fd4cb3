import { createHash } from 'node:crypto'
import type { Digested } from '../../../core/data/disk-cache.ts'
import { CodingNotAccepted } from '../errors.ts'
import type { GameBlob, GameBlobs } from './blobs.ts'
import type { Coding } from './codings.ts'
import { decoded } from './decode.ts'

/** The maximum size of a decoded file, which is the default maximum of any file of a deploy. */
const DECODED_BYTES = 512 * 1024 * 1024
/** The maximum number of files whose decoded size is remembered. */
const REMEMBERED = 10_000

/**
 * The files that their makers compressed, for clients that do not accept the coding. The content of a file never
 * changes, so the digest and the size of the decoded form are determined once, and its bytes are copies in the disk
 * cache, like those of a remote storage.
 */
export class DecodedFiles {
  readonly #blobs: GameBlobs
  readonly #maxBytes: number
  readonly #found = new Map<string, Promise<GameBlob | 'invalid' | 'too large'>>()

  /** @param cacheBytes the size of the disk cache, which keeps no file above its half */
  constructor(blobs: GameBlobs, cacheBytes: number) {
    this.#blobs = blobs
    this.#maxBytes = Math.min(DECODED_BYTES, Math.floor(cacheBytes / 2))
  }

  /**
   * Returns the decoded form of a file.
   *
   * @throws CodingNotAccepted if the file is not what its name says, or its content is too large
   */
  async of({ sha256, size }: Digested, coding: Coding): Promise<GameBlob> {
    const key = `${coding} ${sha256}`
    let found = this.#found.get(key)
    if (!found) {
      found = this.#measure({ sha256, size }, coding)
      found.catch(() => this.#found.delete(key))
      const [oldest] = this.#found.keys()
      if (this.#found.size >= REMEMBERED) this.#found.delete(oldest as string)
      this.#found.set(key, found)
    }
    const result = await found
    if (typeof result !== 'string') return result
    const reason = result === 'invalid' ? 'its content is not in that coding' : 'it is too large to be decoded here'
    throw new CodingNotAccepted(coding, reason).with({
      headers: { 'cache-control': 'no-store', vary: 'accept-encoding' },
    })
  }

  async #measure(of: Digested, coding: Coding): Promise<GameBlob | 'invalid' | 'too large'> {
    const end = await this.#blobs.decoding.take()
    try {
      const stored = await this.#blobs.open(of)
      let failure: Error | undefined
      stored.once('error', (error) => {
        failure = error
      })
      const hash = createHash('sha256')
      let size = 0
      try {
        for await (const chunk of decoded(stored, coding) as AsyncIterable<Buffer>) {
          size += chunk.length
          if (size > this.#maxBytes) return 'too large'
          hash.update(chunk)
        }
      } catch (error) {
        // An error of the storage is none of the file.
        if (failure) throw error
        return 'invalid'
      }
      return { sha256: hash.digest('hex'), size, decoded: { of, coding } }
    } finally {
      end()
    }
  }
}
