import { setImmediate as nextTurn } from 'node:timers/promises'
import { LockMode } from '@mikro-orm/core'
import type { FastifyInstance } from 'fastify'
import type { Storage } from '../../../drivers/storage/interface.ts'
import { BlobRow, BlobVariant, DeployRow, DeployUpload, OwnerBlob } from '../entities.ts'
import { digestsIn } from '../manifest/manifests.ts'
import type { DeployState } from '../schemas.ts'
import { OVER, releaseStorage } from '../stored-bytes.ts'
import { blobKey, chunksOf, PLACEHOLDERS } from './blobs.ts'

/** Deletes blobs that no deploy of the last day names, and none that can go live again (contracts, section 6). */
const UNUSED_FOR_MS = 25 * 60 * 60 * 1000
const BATCH = 500
/** Deploys that end in one transaction: each is taken out of its owner's count, file by file. */
const EXPIRED_AT_ONCE = 20
/** Rows read at once: on SQLite reading holds up whatever else the process does. */
const PAGE = 1000
const COLLECT_EVERY_MS = 6 * 60 * 60 * 1000
const STALE_MS = 60 * 1000

type Parts = Pick<FastifyInstance, 'db' | 'clock' | 'log' | 'quotas'> & { storage: Storage }

/** Ends deploys that nobody finalized, and removes bytes that nobody refers to; beside uploads, at any time. */
export class GarbageCollector {
  readonly #parts: Parts
  #collectAt = 0

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** The periodic job of every minute: what is cheap each time, what is not every few hours. */
  async run(signal: AbortSignal): Promise<void> {
    await this.expire()
    await this.#finishRemovals()
    const now = this.#parts.clock.now().getTime()
    if (now < this.#collectAt) return
    await this.collect(signal)
    this.#collectAt = now + COLLECT_EVERY_MS
  }

  /** Uploads end after a day; what was uploaded counts for nothing then. */
  async expire(): Promise<void> {
    const { db, clock, quotas } = this.#parts
    const states: DeployState[] = ['uploading', 'finalizing']
    const expireSome = () =>
      db.transaction(async (em) => {
        // Locked, so that each of them is ended here and nowhere else.
        const over = await em.find(
          DeployRow,
          { state: { $in: states }, expiresAt: { $lte: clock.now() } },
          { fields: ['id'], limit: EXPIRED_AT_ONCE, lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE },
        )
        const ids = over.map(({ id }) => id)
        if (ids.length === 0) return 0
        await em.nativeUpdate(DeployRow, { id: { $in: ids } }, { state: 'expired' })
        await em.nativeDelete(DeployUpload, { deployId: { $in: ids } })
        await releaseStorage(em, quotas, ids)
        return ids.length
      })
    while ((await expireSome()) === EXPIRED_AT_ONCE) await nextTurn()
  }

  /** A process that died between condemning bytes and removing them keeps them from being uploaded anew. */
  async #finishRemovals(): Promise<void> {
    const { db, clock } = this.#parts
    const stale = await db.query<{ sha256: string }>('select sha256 from blobs where condemned_at < ? limit 1000', [
      new Date(clock.now().getTime() - STALE_MS),
    ])
    for (const { sha256 } of stale) await this.#erase(sha256)
  }

  /**
   * Removes unreferenced blobs. One statement marks a blob for deletion only while no deploy of the last day has named
   * it, and every deploy names its blobs (`reserve`) before it depends on them. Concurrent uploads and interruptions
   * are therefore safe: the next run removes the marked blobs.
   */
  async collect(signal: AbortSignal): Promise<void> {
    const { db, clock, log } = this.#parts
    const before = new Date(clock.now().getTime() - UNUSED_FOR_MS)
    // Candidates first, references second: a deploy begun in between has named its blobs, and saves them below.
    const candidates = new Set<string>()
    for (let after = ''; ; ) {
      // Without a condition on the time, so that a statement reads a page of rows and not all that are in use, too.
      const sql =
        'select sha256, case when used_at < ? then 1 else 0 end as unused from blobs where sha256 > ? order by sha256 limit ?'
      const rows = await db.query<{ sha256: string; unused: number }>(sql, [before, after, PAGE])
      for (const { sha256, unused } of rows) if (unused) candidates.add(sha256)
      const last = rows.at(-1)
      if (rows.length < PAGE || !last || signal.aborted) break
      after = last.sha256
      await nextTurn()
    }
    if (candidates.size > 0) {
      await this.#spareReferenced(candidates)
      await this.#spareVariants(candidates)
    }
    let removed = 0
    for (const sha256 of candidates) {
      if (signal.aborted) break
      if (await this.#remove(sha256, before)) removed++
    }
    if (!signal.aborted) await this.#removeStrandedUploads()
    if (removed > 0) log.info({ removed }, 'removed bytes that no deploy refers to')
  }

  /** Takes out of `candidates` what a deploy refers to that is or may go live. */
  async #spareReferenced(candidates: Set<string>): Promise<void> {
    for (let after = ''; ; ) {
      const rows = await this.#parts.db.query<{ id: string; files: string }>(
        `select d.id, m.files from deploys d join deploy_manifests m on m.deploy_id = d.id
         where d.id > ? and d.state not in (?, ?) order by d.id limit 5`,
        [after, ...OVER],
      )
      for (const { files } of rows) for (const sha256 of digestsIn(files)) candidates.delete(sha256)
      const last = rows.at(-1)
      if (!last) return
      after = last.id
      await nextTurn()
    }
  }

  /** Compressed forms go when what they are forms of has gone: with the next run. */
  async #spareVariants(candidates: Set<string>): Promise<void> {
    const { db } = this.#parts
    await this.#removeOrphanedVariants()
    for (const chunk of chunksOf([...candidates])) {
      const sql = `select sha256, variant_sha256 as variant from blob_variants where variant_sha256 in (${PLACEHOLDERS})`
      for (const { sha256, variant } of await db.query<{ sha256: string; variant: string }>(sql, chunk)) {
        if (!candidates.has(sha256)) candidates.delete(variant)
      }
    }
  }

  /** Looked for by a connection that only reads; what writes finds its rows by their key. */
  async #removeOrphanedVariants(): Promise<void> {
    const { db } = this.#parts
    for (let after = ''; ; ) {
      const rows = await db.query<{ sha256: string; orphaned: number }>(
        `select sha256, case when exists (select 1 from blobs b where b.sha256 = v.sha256) then 0 else 1 end as orphaned
         from blob_variants v where v.sha256 > ? order by v.sha256 limit ?`,
        [after, PAGE],
      )
      const orphaned = rows.filter((row) => row.orphaned).map(({ sha256 }) => sha256)
      for (const chunk of chunksOf(orphaned)) {
        await db.execute(
          `delete from blob_variants where sha256 in (${PLACEHOLDERS})
           and not exists (select 1 from blobs where blobs.sha256 = blob_variants.sha256)`,
          chunk,
        )
      }
      const last = rows.at(-1)
      if (rows.length < PAGE || !last) return
      // Where a page ends between two forms of a blob, the statement above met both.
      after = last.sha256
      await nextTurn()
    }
  }

  async #remove(sha256: string, before: Date): Promise<boolean> {
    const { db, clock } = this.#parts
    const condemned = await db.transaction(async (em) => {
      const rows = await em.nativeUpdate(BlobRow, { sha256, usedAt: { $lt: before } }, { condemnedAt: clock.now() })
      if (rows > 0) {
        await em.nativeDelete(OwnerBlob, { sha256 })
        await em.nativeDelete(DeployUpload, { sha256 })
        await em.nativeDelete(BlobVariant, { variantSha256: sha256 })
      }
      return rows > 0
    })
    if (condemned) await this.#erase(sha256)
    return condemned
  }

  /** The bytes first, then the row: never the other way round, or there would be bytes that nothing knows of. */
  async #erase(sha256: string): Promise<void> {
    const { db, storage } = this.#parts
    await storage.delete(blobKey(sha256))
    await db.em().nativeDelete(BlobRow, { sha256, condemnedAt: { $ne: null } })
  }

  /** Uploads straight to the storage for deploys that are over. */
  async #removeStrandedUploads(): Promise<void> {
    const { db, storage } = this.#parts
    let keys: string[] = []
    const flush = async () => {
      const ids = [...new Set(keys.map((key) => key.split('/')[1] as string))]
      const open = await db
        .em()
        .find(DeployRow, { id: { $in: ids }, state: { $in: ['uploading', 'finalizing'] } }, { fields: ['id'] })
      const kept = new Set(open.map(({ id }) => id))
      for (const key of keys) if (!kept.has(key.split('/')[1] as string)) await storage.delete(key)
      keys = []
    }
    for await (const { key } of storage.list('uploads/')) {
      keys.push(key)
      if (keys.length === BATCH) await flush()
    }
    if (keys.length > 0) await flush()
  }
}
