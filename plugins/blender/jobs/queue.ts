import { LockMode } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Clock } from '../../../core/clock.ts'
import type { Database } from '../../../core/data/database.ts'
import { randomText } from '../../../core/ids.ts'
import type { Quotas } from '../../quotas/index.ts'
import { JobRow, JobText, Turn } from '../entities.ts'
import { FAILURES, type FailureCode, QueueFull } from '../errors.ts'
import type { Artifact } from '../schemas.ts'
import { bytesOf, STORED_KIND } from './stored-bytes.ts'

/** The maximum number of runs of one job: one, and one more after its worker was lost. */
export const ATTEMPTS = 2
/** The stored part of a run's output. */
export const LOG_CHARACTERS = 65_536

/** The fields of a job that the submitter sets. The queue adds the rest. */
export type QueuedJob = Pick<
  JobRow,
  | 'id'
  | 'ownerId'
  | 'purpose'
  | 'name'
  | 'action'
  | 'template'
  | 'parameters'
  | 'starterAssets'
  | 'faceLimit'
  | 'sourceJobId'
> & { script: string | null; assetId?: string; generationId?: string; gameId?: string | null }

/** A job that this process runs until its lease ends. */
export interface Claim {
  job: JobRow
  leaseId: string
  script: string | null
}

export type Outcome =
  | { status: 'completed'; artifacts: Artifact[]; log: string }
  | { status: 'failed'; code: FailureCode; message?: string | undefined; log: string }

/**
 * The order of jobs and their workers, stored in the database.
 *
 * Fair queuing: a submitted job gets a turn, which is one after the turn served now or after its owner's last waiting
 * job, whichever is later. Jobs run by turn, then by age. Each owner therefore has one job a turn, however many wait,
 * and a new owner is served in the next turn. Finished jobs are not in the index that claims read.
 *
 * A running job is held under a lease, and every change by its worker names that lease: a worker that was too slow
 * finds that it has lost the job, and changes nothing.
 */
export class Queue {
  readonly #db: Database
  readonly #clock: Clock
  readonly #quotas: Quotas
  /** Called at a job's end, in the transaction that ends it. */
  onEnd: (em: SqlEntityManager, job: JobRow) => Promise<void> = async () => {}
  readonly #limits: { queuedPerOwner: number; runningPerOwner: number; leaseSeconds: number }

  constructor(
    { db, clock, quotas }: { db: Database; clock: Clock; quotas: Quotas },
    limits: { queuedPerOwner: number; runningPerOwner: number; leaseSeconds: number },
  ) {
    this.#db = db
    this.#clock = clock
    this.#quotas = quotas
    this.#limits = limits
  }

  /** Adds a job. @throws QueueFull; QuotaExceeded when its owner has no storage left for the result */
  async submit({ script, ...job }: QueuedJob, further?: (em: SqlEntityManager) => Promise<unknown>): Promise<void> {
    await this.#db.transaction(async (em) => {
      const now = await this.#holdTurn(em)
      const waiting = { ownerId: job.ownerId, status: 'queued' as const }
      const [last] = await em.find(JobRow, waiting, { orderBy: { turn: 'desc' }, limit: 1, fields: ['turn'] })
      if (job.purpose === 'job' || job.purpose === 'generation') await this.assertRoom(job.ownerId, em)
      await em.insert(JobRow, {
        ...job,
        status: 'queued',
        progress: 0,
        stage: null,
        attempts: 0,
        turn: Math.max(now.turn, last?.turn ?? 0) + 1,
        queuedAt: this.#clock.now(),
        startedAt: null,
        finishedAt: null,
        leaseId: null,
        leaseEndsAt: null,
        errorCode: null,
        errorMessage: null,
        artifacts: [],
        assetId: job.assetId ?? null,
        generationId: job.generationId ?? null,
        gameId: job.gameId ?? null,
      })
      await em.insert(JobText, { jobId: job.id, script, log: '' })
      await further?.(em)
    })
  }

  /** @throws QueueFull, QuotaExceeded as `submit` */
  async assertRoom(ownerId: string, em: SqlEntityManager = this.#db.em()): Promise<void> {
    const { queuedPerOwner } = this.#limits
    if ((await em.count(JobRow, { ownerId, status: 'queued' })) >= queuedPerOwner) throw new QueueFull(queuedPerOwner)
    await this.#quotas.mustHaveRoom(ownerId, em)
  }

  /** Claims the next job whose owner is below the limit of running jobs. */
  async claim(): Promise<Claim | null> {
    // The first check takes no lock, because the queue is usually empty.
    const [waiting] = await this.#db.query(`select id from blender_jobs where status = 'queued' limit 1`)
    if (!waiting) return null
    const leaseId = randomText(12)
    const job = await this.#db.transaction(async (em) => {
      const now = await this.#holdTurn(em)
      const busy = await em.execute<{ ownerId: string }[]>(
        `select owner_id as "ownerId" from blender_jobs where status = 'running' group by owner_id having count(*) >= ?`,
        [this.#limits.runningPerOwner],
      )
      const owners = busy.map(({ ownerId }) => ownerId)
      const [job] = await em.find(
        JobRow,
        { status: 'queued', ...(owners.length ? { ownerId: { $nin: owners } } : {}) },
        { orderBy: { turn: 'asc', id: 'asc' }, limit: 1 },
      )
      if (!job) return null
      now.turn = Math.max(now.turn, job.turn)
      Object.assign(job, {
        status: 'running',
        startedAt: this.#clock.now(),
        attempts: job.attempts + 1,
        progress: 0,
        stage: 'starting',
        leaseId,
        leaseEndsAt: this.#leaseEnd(),
      })
      return job
    })
    if (!job) return null
    const text = await this.#db.em().findOne(JobText, { jobId: job.id })
    return { job, leaseId, script: text?.script ?? null }
  }

  /** Extends a job's lease. @returns false when another worker has the job or it was cancelled: the run must end */
  async renew({ job, leaseId }: Claim): Promise<boolean> {
    const held = { id: job.id, leaseId, status: 'running' as const }
    return (await this.#db.em().nativeUpdate(JobRow, held, { leaseEndsAt: this.#leaseEnd() })) === 1
  }

  /** Returns those of the claims that are no longer valid. */
  async lost(claims: Claim[]): Promise<Claim[]> {
    const marks = claims.map(() => '?').join(', ')
    const rows = await this.#db.query<{ leaseId: string | null }>(
      `select lease_id as "leaseId" from blender_jobs where id in (${marks})`,
      claims.map(({ job }) => job.id),
    )
    const held = new Set(rows.map(({ leaseId }) => leaseId))
    return claims.filter(({ leaseId }) => !held.has(leaseId))
  }

  async report({ job, leaseId }: Claim, progress: number, stage: string): Promise<void> {
    await this.#db.em().nativeUpdate(JobRow, { id: job.id, leaseId }, { progress, stage: stage.slice(0, 200) })
  }

  /** Ends a run. @returns false when it had lost the job, and nothing changed */
  async finish({ job, leaseId }: Claim, outcome: Outcome): Promise<boolean> {
    return this.#db.transaction(async (em) => {
      const done =
        outcome.status === 'completed'
          ? { status: 'completed' as const, progress: 1, artifacts: outcome.artifacts }
          : { status: 'failed' as const, ...failure(outcome.code, outcome.message) }
      const changed = await em.nativeUpdate(
        JobRow,
        { id: job.id, leaseId, status: 'running' },
        { ...done, stage: null, finishedAt: this.#clock.now(), leaseId: null, leaseEndsAt: null },
      )
      if (changed === 0) return false
      if (outcome.status === 'completed') {
        // The quota admitted the job at its submission, before the size of the result was known.
        const stored = { kind: STORED_KIND, bytes: bytesOf(outcome.artifacts) }
        await this.#quotas.add(em, job.ownerId, stored, { admitted: true })
      }
      await em.nativeUpdate(JobText, { jobId: job.id }, { log: outcome.log.slice(-LOG_CHARACTERS) })
      await this.onEnd(em, job)
      return true
    })
  }

  /** Returns a job to its place in the queue; by default the run does not count. */
  async giveBack({ job, leaseId }: Claim, attempts = job.attempts - 1): Promise<void> {
    await this.#db.em().nativeUpdate(JobRow, { id: job.id, leaseId, status: 'running' }, { ...AGAIN, attempts })
  }

  /**
   * Returns the jobs of dead workers to the queue, or fails those that have lost two workers.
   *
   * @returns the changed jobs
   */
  async recover(): Promise<JobRow[]> {
    const now = this.#clock.now()
    const [expired] = await this.#db.query(
      `select id from blender_jobs where status = 'running' and lease_ends_at < ? limit 1`,
      [now],
    )
    if (!expired) return []
    return this.#db.transaction(async (em) => {
      const rows = await em.find(
        JobRow,
        { status: 'running', leaseEndsAt: { $lt: now } },
        { lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE, limit: 100 },
      )
      for (const row of rows) {
        if (row.attempts < ATTEMPTS) Object.assign(row, AGAIN)
        else
          Object.assign(
            row,
            { status: 'failed', stage: null, finishedAt: now, leaseId: null, leaseEndsAt: null },
            failure('worker_lost'),
          )
      }
      for (const row of rows) if (row.status === 'failed') await this.onEnd(em, row)
      return rows
    })
  }

  /**
   * Cancels a waiting or running job at once. Its worker notices later.
   *
   * @param also runs in the same transaction
   * @returns false when it has ended already
   */
  async cancel(jobId: string, also?: (em: SqlEntityManager, job: JobRow) => Promise<void>): Promise<boolean> {
    return this.#db.transaction(async (em) => {
      const cancelled = await em.nativeUpdate(
        JobRow,
        { id: jobId, status: { $in: ['queued', 'running'] } },
        { status: 'cancelled', stage: null, finishedAt: this.#clock.now(), leaseId: null, leaseEndsAt: null },
      )
      if (cancelled === 0) return false
      const job = await em.findOneOrFail(JobRow, { id: jobId })
      await this.onEnd(em, job)
      await also?.(em, job)
      return true
    })
  }

  /** Returns the positions of the waiting jobs of some owners in the queue. 1 is next. @param ownerIds at least one */
  async positions(ownerIds: readonly string[]): Promise<Map<string, number>> {
    const marks = ownerIds.map(() => '?').join(', ')
    const rows = await this.#db.query<{ id: string; place: number }>(`${POSITIONS} (${marks})`, [...ownerIds])
    return new Map(rows.map(({ id, place }) => [id, Number(place)]))
  }

  async counts(): Promise<{ queued: number; running: number }> {
    const rows = await this.#db.query<{ status: string; jobs: number }>(
      `select status, count(*) as jobs from blender_jobs where status in ('queued', 'running') group by status`,
    )
    const of = (status: string) => Number(rows.find((row) => row.status === status)?.jobs ?? 0)
    return { queued: of('queued'), running: of('running') }
  }

  async #holdTurn(em: SqlEntityManager): Promise<Turn> {
    return em.findOneOrFail(Turn, { id: 'now' }, { lockMode: LockMode.PESSIMISTIC_WRITE })
  }

  #leaseEnd(): Date {
    return new Date(this.#clock.now().getTime() + this.#limits.leaseSeconds * 1000)
  }
}

const AGAIN = { status: 'queued' as const, progress: 0, stage: null, startedAt: null, leaseId: null, leaseEndsAt: null }

const failure = (code: FailureCode, message: string = FAILURES[code]) => ({ errorCode: code, errorMessage: message })

const POSITIONS = `select mine.id as id, (
    select count(*) from blender_jobs other
    where other.status = 'queued' and (other.turn < mine.turn or (other.turn = mine.turn and other.id <= mine.id))
  ) as place from blender_jobs mine where mine.status = 'queued' and mine.owner_id in`
