import { setImmediate as nextTurn } from 'node:timers/promises'
import { LockMode } from '@mikro-orm/core'
import type { FastifyInstance } from 'fastify'
import type { Storage } from '../../../drivers/storage/interface.ts'
import type { DraftBuilds } from '../drafts/draft-builds.ts'
import { BlobRow, BlobVariant, DeployRow, DeployUpload, OwnerBlob } from '../entities.ts'
import { linesOf } from '../manifest/stored-manifest.ts'
import type { DeployState } from '../schemas.ts'
import { OVER, releaseStorage } from '../stored-bytes.ts'
import { blobKey, chunksOf, PLACEHOLDERS } from './blobs.ts'

/**
 * Blobs are deleted if no deploy of the last day names them, and no deploy that can go live again.
 */
const UNUSED_FOR_MS = 25 * 60 * 60 * 1000
const BATCH = 500
/** The number of rows in one read. On SQLite, a read blocks the whole process. */
const PAGE = 1000
const COLLECT_EVERY_MS = 6 * 60 * 60 * 1000
const STALE_MS = 60 * 1000

type Parts = Pick<FastifyInstance, 'db' | 'clock' | 'log' | 'quotas'> & {
  storage: Storage
  deploys: { readonly drafts: Pick<DraftBuilds, 'digests'> }
}

/**
 * Ends deploys that were not finalized, and removes unreferenced bytes. It may run at any time, concurrently with
 * uploads.
 */
export class GarbageCollector {
  readonly #parts: Parts
  #collectAt = 0

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** The job of every minute. It does the cheap work each time, and the expensive work every few hours. */
  async run(signal: AbortSignal): Promise<void> {
    await this.expire(signal)
    await this.#finishRemovals(signal)
    const now = this.#parts.clock.now().getTime()
    if (now < this.#collectAt) return
    await this.collect(signal)
    this.#collectAt = now + COLLECT_EVERY_MS
  }

  /** Uploads expire after a day. The uploaded files then no longer count. */
  async expire(signal?: AbortSignal): Promise<void> {
    const { db, clock, quotas } = this.#parts
    const states: DeployState[] = ['uploading', 'finalizing']
    // One in each transaction: on SQLite nobody else writes during it, and a large build takes a tenth of a second.
    const expireOne = () =>
      db.transaction(async (em) => {
        // The lock ensures that only one caller ends each deploy.
        const [over] = await em.find(
          DeployRow,
          { state: { $in: states }, expiresAt: { $lte: clock.now() } },
          { fields: ['id'], limit: 1, lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE },
        )
        if (!over) return false
        const { id } = over
        await em.nativeUpdate(DeployRow, { id }, { state: 'expired' })
        await em.nativeDelete(DeployUpload, { deployId: id })
        await releaseStorage(em, quotas, [id])
        return true
      })
    while (!signal?.aborted && (await expireOne())) await nextTurn()
  }

  /** Finishes removals that a crash interrupted. The condemned blobs could not be uploaded again. */
  async #finishRemovals(signal: AbortSignal): Promise<void> {
    const { db, clock } = this.#parts
    const stale = await db.query<{ sha256: string }>('select sha256 from blobs where condemned_at < ? limit 1000', [
      new Date(clock.now().getTime() - STALE_MS),
    ])
    for (const { sha256 } of stale) {
      if (signal.aborted) return
      await this.#erase(sha256)
    }
  }

  /**
   * Removes unreferenced blobs. One statement marks a blob for deletion only while no deploy of the last day has named
   * it, and every deploy names its blobs (`reserve`) before it depends on them. Concurrent uploads and interruptions
   * are therefore safe: the next run removes the marked blobs.
   */
  async collect(signal: AbortSignal): Promise<void> {
    const { db, clock, log } = this.#parts
    const before = new Date(clock.now().getTime() - UNUSED_FOR_MS)
    // Candidates are read before references. A deploy that begins in between has named its blobs, and saves them below.
    const candidates = new Set<string>()
    for (let after = ''; ; ) {
      // There is no condition on the time, so that a statement reads one page of rows and not also all blobs in use.
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

  /** Removes blobs from `candidates` that belong to a draft, or to a deploy which is live or may go live. */
  async #spareReferenced(candidates: Set<string>): Promise<void> {
    for await (const digests of this.#parts.deploys.drafts.digests()) {
      for (const sha256 of digests) candidates.delete(sha256)
    }
    for (let after = ''; ; ) {
      const rows = await this.#parts.db.query<{ id: string; files: string }>(
        `select d.id, m.files from deploys d join deploy_manifests m on m.deploy_id = d.id
         where d.id > ? and d.state not in (?, ?) order by d.id limit 1`,
        [after, ...OVER],
      )
      const [row] = rows
      if (!row) return
      for await (const lines of linesOf(row.files)) for (const [, sha256] of lines) candidates.delete(sha256)
      after = row.id
      await nextTurn()
    }
  }

  /** Keeps compressed forms of existing blobs. The others are deleted with the next run. */
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

  /** A read-only connection searches for the rows, and the write finds them by their key. */
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
      // If a page ends between two forms of a blob, the statement above found both.
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

  /** Removes the bytes before the row. In the other order, a crash would leave unknown bytes. */
  async #erase(sha256: string): Promise<void> {
    const { db, storage } = this.#parts
    await storage.delete(blobKey(sha256))
    await db.em().nativeDelete(BlobRow, { sha256, condemnedAt: { $ne: null } })
  }

  /** Removes direct uploads to the storage for deploys that have ended. */
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
