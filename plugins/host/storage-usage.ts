import { statfs } from 'node:fs/promises'
import type { FastifyInstance } from 'fastify'

/** The usage of one kind of blobs; the kind is the first part of their keys. */
export interface BlobUse {
  kind: string
  blobs: number
  bytes: number
}

export interface Counted {
  kinds: BlobUse[]
  bytes: number
  /** The time of the count, in ms. */
  at: number
}

type Parts = Pick<FastifyInstance, 'storage' | 'db' | 'config' | 'clock'>

/** The stored data, and the free space. */
export class StorageUse {
  readonly #parts: Parts
  #counted: Counted | null = null
  #counting: Promise<Counted> | null = null

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Returns the last count of blobs, or null. A count reads every name, so it runs only on demand. */
  get lastCount(): Counted | null {
    return this.#counted
  }

  /** Counts the blobs. Concurrent callers share one count. */
  count(): Promise<Counted> {
    this.#counting ??= this.#count().finally(() => {
      this.#counting = null
    })
    return this.#counting
  }

  /** Returns the size of the database, as the database reports it. */
  async databaseBytes(): Promise<number> {
    const { db } = this.#parts
    const sql =
      db.dialect === 'sqlite'
        ? 'select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()'
        : 'select pg_database_size(current_database()) as bytes'
    const [row] = await db.query<{ bytes: number | string }>(sql)
    return Number(row?.bytes ?? 0)
  }

  /** Returns the size of the data folder's disk in bytes; null if the system does not report it. */
  async disk(): Promise<{ free: number; size: number } | null> {
    const disk = await statfs(this.#parts.config.dataDir).catch(() => null)
    return disk && { free: disk.bavail * disk.bsize, size: disk.blocks * disk.bsize }
  }

  async #count(): Promise<Counted> {
    const kinds = new Map<string, BlobUse>()
    for await (const { key, size } of this.#parts.storage.list('')) {
      const kind = key.split('/', 1)[0] as string
      const use = kinds.get(kind) ?? { kind, blobs: 0, bytes: 0 }
      use.blobs++
      use.bytes += size
      kinds.set(kind, use)
    }
    const sorted = [...kinds.values()].sort((a, b) => b.bytes - a.bytes)
    const bytes = sorted.reduce((sum, use) => sum + use.bytes, 0)
    this.#counted = { kinds: sorted, bytes, at: this.#parts.clock.now().getTime() }
    return this.#counted
  }
}
