import { createHash, randomUUID } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { type FileHandle, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { FastifyBaseLogger } from 'fastify'
import type { ByteRange } from './byte-range.ts'
import { makeFolder } from './folders/make-folder.ts'
import { isLeftBehind, OWN_PREFIX } from './sharing/process-files.ts'

const CHUNK_BYTES = 256 * 1024
/** Maximum distance of a reader ahead of an incomplete copy, before it reads from the storage itself. */
const AHEAD_BYTES = 4 * 1024 * 1024
/** The interval in which copies of other processes are noticed. */
const LIST_MS = 60_000

/** The name of a complete copy. */
const COPY = /^[0-9a-f]{64}$/

/** A blob identified by its digest. A storage may need further fields to find it. */
export interface Digested {
  sha256: string
  size: number
}

/** Reads blobs by their digest. */
export interface Blobs<Blob extends Digested = Digested> {
  /** Opens the blob as a file, which the caller closes; null when it is not on this machine. */
  file(blob: Blob): Promise<FileHandle | null>
  /** Streams the blob or a range of it. A caller that does not read the stream to its end destroys it. */
  open(blob: Blob, range?: ByteRange): Promise<Readable>
}

/** A copy in progress. Concurrent readers share it. */
interface Filling {
  path: string
  file: FileHandle
  written: number
  /** Emits `progress` after every chunk and at the end. */
  steps: EventEmitter
  state: 'running' | 'done' | 'failed'
  /** The streams of the copy and, while it runs, the copying itself. The last one closes the file. */
  users: number
}

interface Parts<Blob extends Digested> {
  /** Folder of the copies. It is created if missing, and must have no other use. */
  folder: string
  /** Maximum total size of the copies. */
  maxBytes: number
  /** The storage of the original blobs. */
  source: Blobs<Blob>
  log: FastifyBaseLogger
}

/**
 * Caches blobs of a remote storage on this machine: a file is fetched once and then served from the disk, whole or in
 * ranges. The least recently used files are removed first.
 *
 * Files are named by digest and verified as they are written, so they never become stale. Losing the folder loses no
 * data. Processes of one machine may share the folder. Each removes files by their last use, no matter which made them; together
 * they may exceed the size by what they copy within a minute.
 */
export class DiskCache<Blob extends Digested = Digested> implements Blobs<Blob> {
  readonly #parts: Parts<Blob>
  /** Maps digest to size, the least recently used first. */
  readonly #copies = new Map<string, number>()
  readonly #filling = new Map<string, Promise<Filling>>()
  #bytes = 0
  #listedAt = 0

  private constructor(parts: Parts<Blob>) {
    this.#parts = parts
  }

  /** Lists the existing copies, and removes the incomplete copies of processes that died. */
  static async open<Blob extends Digested>(parts: Parts<Blob>): Promise<DiskCache<Blob>> {
    const cache = new DiskCache<Blob>(parts)
    const { folder } = parts
    await makeFolder(folder)
    for (const name of await readdir(folder))
      if (!COPY.test(name) && isLeftBehind(name)) await rm(join(folder, name), { force: true, recursive: true })
    await cache.#makeRoom()
    return cache
  }

  /** Total size of all copies. */
  get bytes(): number {
    return this.#bytes
  }

  /** Opens an existing copy; null when there is none or it has been removed. */
  async file({ sha256, size }: Digested): Promise<FileHandle | null> {
    // What this process does not know may have been copied by another.
    if ((this.#copies.get(sha256) ?? size) !== size) return null
    const path = join(this.#parts.folder, sha256)
    try {
      const file = await open(path)
      if (!this.#copies.has(sha256) && (await file.stat()).size !== size) {
        await file.close()
        return null
      }
      this.#add(sha256, size)
      // Records the use for the order after the next start; an error loses no data.
      const now = new Date()
      utimes(path, now, now).catch(() => {})
      return file
    } catch {
      this.#forget(sha256)
      return null
    }
  }

  async open(blob: Blob, range?: ByteRange): Promise<Readable> {
    const { sha256, size } = blob
    const copy = await this.file(blob)
    if (copy) return copy.createReadStream({ ...range, highWaterMark: CHUNK_BYTES })
    // A blob that would evict more than half of the cache is not cached.
    if (size > this.#parts.maxBytes / 2) return this.#parts.source.open(blob, range)
    const filling = await this.#fill(blob)
    const { start, end } = range ?? { start: 0, end: size - 1 }
    const isOver = filling.state === 'failed' || filling.users === 0
    if (isOver || start > filling.written + AHEAD_BYTES) return this.#parts.source.open(blob, range)
    filling.users++
    const bytes = this.#follow(sha256, filling, start, end)
    const stream = Readable.from(bytes, { objectMode: false, highWaterMark: CHUNK_BYTES })
    // A `finally` of the generator would not run for a stream that is destroyed before its first read.
    return stream.once('close', () => this.#leave(filling))
  }

  #leave(filling: Filling): void {
    if (--filling.users > 0) return
    filling.file.close().catch((error) => this.#parts.log.warn({ err: error }, 'a file of the cache was not closed'))
  }

  #fill(blob: Blob): Promise<Filling> {
    const { sha256 } = blob
    const under = this.#filling.get(sha256)
    if (under) return under
    const started = this.#begin(blob)
    this.#filling.set(sha256, started)
    started.catch(() => this.#filling.delete(sha256))
    return started
  }

  /** @throws BlobNotFound and other errors of the storage, before the reader gets a stream */
  async #begin(blob: Blob): Promise<Filling> {
    const body = await this.#parts.source.open(blob)
    const path = join(this.#parts.folder, `${OWN_PREFIX}${randomUUID()}`)
    try {
      const file = await open(path, 'wx+')
      const steps = new EventEmitter().setMaxListeners(0)
      const filling: Filling = { path, file, written: 0, steps, state: 'running', users: 1 }
      void this.#run(blob, body, filling)
      return filling
    } catch (error) {
      body.destroy()
      throw error
    }
  }

  async #run(blob: Blob, body: Readable, filling: Filling): Promise<void> {
    const { sha256, size } = blob
    const { file, path, steps } = filling
    const hash = createHash('sha256')
    try {
      for await (const chunk of body) {
        hash.update(chunk)
        await file.write(chunk, 0, chunk.length, filling.written)
        filling.written += chunk.length
        steps.emit('progress')
      }
      if (filling.written !== size || hash.digest('hex') !== sha256) throw new Error('The storage sent other bytes.')
      await rename(path, join(this.#parts.folder, sha256))
      filling.state = 'done'
      this.#add(sha256, size)
      await this.#makeRoom()
    } catch (error) {
      filling.state = 'failed'
      this.#parts.log.warn({ err: error, sha256 }, 'a file could not be copied from the storage')
      await rm(path, { force: true })
    } finally {
      this.#filling.delete(sha256)
      steps.emit('progress')
      this.#leave(filling)
    }
  }

  /** Streams the bytes of a copy in progress. */
  async *#follow(sha256: string, filling: Filling, start: number, end: number): AsyncGenerator<Buffer> {
    for (let at = start; at <= end; ) {
      const ready = Math.min(filling.written, end + 1) - at
      if (ready <= 0) {
        if (filling.state !== 'running') throw new Error(`The copy of ${sha256} ended early.`)
        await once(filling.steps, 'progress')
        continue
      }
      const { bytesRead, buffer } = await filling.file.read(
        Buffer.allocUnsafe(Math.min(ready, CHUNK_BYTES)),
        0,
        null,
        at,
      )
      yield buffer.subarray(0, bytesRead)
      at += bytesRead
    }
  }

  /** Reads which copies there are, and when any process used them last. */
  async #list(): Promise<void> {
    this.#listedAt = performance.now()
    const { folder } = this.#parts
    const found: { name: string; size: number; usedAt: number }[] = []
    for (const name of await readdir(folder)) {
      if (!COPY.test(name)) continue
      const status = await stat(join(folder, name)).catch(() => null)
      if (status) found.push({ name, size: status.size, usedAt: status.mtimeMs })
    }
    this.#copies.clear()
    this.#bytes = 0
    for (const { name, size } of found.sort((a, b) => a.usedAt - b.usedAt)) this.#add(name, size)
  }

  #add(sha256: string, size: number): void {
    this.#forget(sha256)
    this.#copies.set(sha256, size)
    this.#bytes += size
  }

  #forget(sha256: string): void {
    this.#bytes -= this.#copies.get(sha256) ?? 0
    this.#copies.delete(sha256)
  }

  async #makeRoom(): Promise<void> {
    if (performance.now() - this.#listedAt > LIST_MS || this.#listedAt === 0) await this.#list()
    for (const [sha256] of this.#copies) {
      if (this.#bytes <= this.#parts.maxBytes) return
      this.#forget(sha256)
      // Readers that have the file open can still read it to its end.
      await rm(join(this.#parts.folder, sha256), { force: true })
    }
  }
}
