import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { Statements } from '../../../core/data/database.ts'
import { isPlatformError } from '../../../core/errors.ts'
import { blobKey, release, removeUnused, reserve } from './blobs.ts'

/** A larger value is stored by its digest, outside of the database. */
export const INLINE_BYTES = 16 * 1024

/** Where the bytes of a version are: in the row, or in the storage. */
export interface StoredValue {
  sha256: string | null
  value: Uint8Array | null
}

type Parts = Pick<FastifyInstance, 'db' | 'clock' | 'log' | 'storage'>

/** Stores the bytes of values, before the transaction of the change, and reads them. */
export class Values {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /**
   * Stores a large value in the storage. The change that refers to it calls `used` in its transaction; a change that fails
   * calls `discard`. After a crash between, it is collected an hour later.
   *
   * When the storage has no room left, the value goes into the row: saves go on when uploads do not.
   *
   * @throws SaveBusy, StorageUnavailable
   */
  async place(bytes: Buffer): Promise<StoredValue> {
    if (bytes.length <= INLINE_BYTES) return { sha256: null, value: bytes }
    const { db, clock, log, storage } = this.#parts
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    await reserve(db, sha256, clock.now())
    try {
      await storage.put(blobKey(sha256), Readable.from([bytes]), { sha256, size: bytes.length })
      return { sha256, value: null }
    } catch (error) {
      await this.discard({ sha256, value: null })
      if (!isPlatformError(error) || error.code !== 'storage_full') throw error
      log.warn({ size: bytes.length }, 'the storage is full: a large save is kept in the database')
      return { sha256: null, value: bytes }
    }
  }

  /** Records that a version refers to a value of `place`, in the transaction of the change. */
  async used(statements: Statements, { sha256 }: StoredValue): Promise<void> {
    if (sha256 !== null) await release(statements, sha256)
  }

  /** Removes a value of `place` that no version will refer to. */
  async discard({ sha256 }: StoredValue): Promise<void> {
    if (sha256 === null) return
    await release(this.#parts.db, sha256).catch((error) => this.#warn(error))
    await this.removeUnused([sha256])
  }

  /** Removes the bytes of large values, each unless a version or a change under way has it. */
  async removeUnused(digests: Iterable<string>): Promise<void> {
    try {
      for (const sha256 of digests) await removeUnused(this.#parts, sha256, this.#parts.clock.now())
    } catch (error) {
      this.#warn(error)
    }
  }

  #warn(error: unknown): void {
    this.#parts.log.warn({ err: error }, 'a large save that nobody has could not be removed; it is collected later')
  }

  /** @throws BlobNotFound when the version has been removed meanwhile; StorageUnavailable */
  async read({ sha256, value }: StoredValue): Promise<Buffer> {
    if (sha256 === null) return asBuffer(value ?? new Uint8Array())
    return Buffer.concat(await Array.fromAsync(await this.#parts.storage.get(blobKey(sha256))))
  }
}

const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
