import { setImmediate as nextTurn } from 'node:timers/promises'
import { LockMode } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import { deleteInBatches } from '../../../core/data/database.ts'
import { NotFound } from '../../../core/errors.ts'
import { firstId } from '../../../core/ids.ts'
import { PLATFORM } from '../../../core/jobs/jobs.ts'
import type { Storage } from '../../../drivers/storage/interface.ts'
import { JobRow, JobText, Turn, WorkerRow } from '../entities.ts'
import { NotOver } from '../errors.ts'
import type { JobStatus } from '../schemas.ts'
import { bytesOf, STORED_KIND } from './stored-bytes.ts'

/** The background job that deletes files of deleted jobs. */
export const REMOVE_FILES = 'blender/files'
/** The periodic job that deletes old jobs. */
export const SWEEP = 'blender/sweep'
const BATCH = 25
const WORKER_KEPT_MS = 86_400_000
/** The time for a late run to notice that its job was deleted. */
const LATE_MS = 600_000

/**
 * Deletes jobs permanently. Rows are deleted at once, and a background job of the same transaction deletes their files.
 */
export class Retention {
  readonly #parts: Pick<FastifyInstance, 'db' | 'clock' | 'jobs' | 'quotas'> & { storage: Storage }
  readonly #keepDays: number

  constructor(
    parts: Pick<FastifyInstance, 'db' | 'clock' | 'jobs' | 'quotas'> & { storage: Storage },
    keepDays: number,
  ) {
    this.#parts = parts
    this.#keepDays = keepDays
  }

  /** Deletes jobs that ended too long ago, except those whose scenes a waiting or running job uses. */
  async sweep(signal: AbortSignal): Promise<void> {
    const { db, clock } = this.#parts
    const before = new Date(clock.now().getTime() - this.#keepDays * 86_400_000)
    let after = ''
    while (!signal.aborted) {
      const last = await db.transaction(async (em) => {
        // Submissions need this lock too, so no new job can use the scene of one of these.
        await em.findOneOrFail(Turn, { id: 'now' }, { lockMode: LockMode.PESSIMISTIC_WRITE })
        const old = await em.find(
          JobRow,
          // A job is older than its end, so jobs created since then are not candidates.
          {
            id: { $gt: after, $lt: firstId('job', before) },
            status: { $in: ['completed', 'failed', 'cancelled'] },
            finishedAt: { $lt: before },
          },
          { orderBy: { id: 'asc' }, limit: BATCH, fields: ['id'] },
        )
        const ids = old.map(({ id }) => id)
        if (ids.length === 0) return null
        const open = await em.find(
          JobRow,
          { sourceJobId: { $in: ids }, status: { $in: ['queued', 'running'] } },
          { fields: ['sourceJobId'] },
        )
        const needed = new Set(open.map(({ sourceJobId }) => sourceJobId))
        await this.#remove(
          em,
          ids.filter((id) => !needed.has(id)),
          clock.now(),
        )
        return ids.at(-1)
      })
      if (!last) break
      after = last
      await nextTurn()
    }
    await this.#sweepGenerations(before, signal)
    // Workers that stopped orderly have deleted their row.
    await db.em().nativeDelete(WorkerRow, { seenAt: { $lt: new Date(clock.now().getTime() - WORKER_KEPT_MS) } })
  }

  /**
   * Deletes requests for assets whose jobs were deleted, also those that no process has ended. The assets stay.
   */
  async #sweepGenerations(before: Date, signal: AbortSignal): Promise<void> {
    const where = `id < ? and (status in ('completed', 'failed', 'cancelled')
      or not exists (select 1 from blender_jobs where blender_jobs.id = blender_generations.job_id))`
    const parameters = [firstId('gen', before)]
    await deleteInBatches(this.#parts.db, { table: 'blender_generations', key: ['id'], where, parameters }, signal)
  }

  /** Deletes all jobs of an account, in the transaction that ends it. */
  async clearOwner(em: SqlEntityManager, ownerId: string): Promise<void> {
    const jobs = await em.find(JobRow, { ownerId }, { fields: ['id'] })
    const ids = jobs.map(({ id }) => id)
    const at = new Date(this.#parts.clock.now().getTime() + LATE_MS)
    for (let from = 0; from < ids.length; from += BATCH)
      await this.#remove(em, ids.slice(from, from + BATCH), at, ownerId)
  }

  /**
   * Removes one job of a player, with its files.
   *
   * @throws NotFound when it is not the player's; NotOver while it waits or runs, or another goes on from it
   */
  async remove(ownerId: string, jobId: string): Promise<void> {
    await this.#parts.db.transaction(async (em) => {
      await em.findOneOrFail(Turn, { id: 'now' }, { lockMode: LockMode.PESSIMISTIC_WRITE })
      const job = await em.findOne(JobRow, { id: jobId, ownerId }, { lockMode: LockMode.PESSIMISTIC_WRITE })
      if (!job) throw new NotFound('job')
      const open = { $in: ['queued', 'running'] as JobStatus[] }
      const needed = await em.count(JobRow, { sourceJobId: jobId, status: open })
      if (needed > 0 || job.status === 'queued' || job.status === 'running') throw new NotOver()
      await this.#remove(em, [jobId], this.#parts.clock.now(), ownerId)
    })
  }

  /** Deletes all stored files of these jobs. It can be repeated. */
  async removeFiles(jobIds: string[], signal: AbortSignal): Promise<void> {
    const { storage } = this.#parts
    for (const id of jobIds) {
      for await (const { key } of storage.list(`blender/${id}/`)) {
        signal.throwIfAborted()
        await storage.delete(key)
      }
    }
  }

  /** @param owner the player whose jobs all of these are; default: they are of many players */
  async #remove(em: SqlEntityManager, ids: string[], runAt: Date, owner = PLATFORM): Promise<void> {
    if (ids.length === 0) return
    const rows = await em.find(
      JobRow,
      { id: { $in: ids } },
      { fields: ['ownerId', 'artifacts'], orderBy: { ownerId: 'asc' } },
    )
    for (const { ownerId, artifacts } of rows) {
      const bytes = bytesOf(artifacts)
      if (bytes > 0) await this.#parts.quotas.remove(em, ownerId, { kind: STORED_KIND, bytes })
    }
    await em.nativeDelete(JobText, { jobId: { $in: ids } })
    await em.nativeDelete(JobRow, { id: { $in: ids } })
    await this.#parts.jobs.enqueue(em, { name: REMOVE_FILES, owner, payload: { jobIds: ids }, runAt })
  }
}
