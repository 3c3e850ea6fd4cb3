import { LockMode, raw } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Clock } from '../clock.ts'
import { type Database, deleteInBatches } from '../data/database.ts'
import { firstId, newId, randomText } from '../ids.ts'
import { BackgroundJob, ENQUEUE, type JobState, PERIODIC_KEY, PLAN } from './job-entities.ts'

export interface NewJob {
  /** Which handler it is for. */
  name: string
  /** The subject, 200 characters at most: there is one job for each name and key; see `Jobs.enqueue`. */
  key?: string
  /** Anything that survives JSON. */
  payload?: unknown
  /** Not before this time; at once by default. */
  runAt?: Date
}

export interface JobOptions {
  /** How long a worker that died keeps others from its job. Renewed while the handler runs, however long. */
  leaseSeconds?: number
  /** Attempts before it is `failed`, those that ended with the process included. */
  maxAttempts?: number
  /** The wait after the first failed attempt; it doubles with each further one, up to an hour. */
  backoffSeconds?: number
}

/** How the jobs of a name are attempted. */
export interface JobRule extends Required<JobOptions> {
  /** For periodic jobs: from one start to the next. */
  everyMs: number | null
}

/** One attempt at a job. What it writes down of the job counts only while its lease is the job's. */
export interface Attempt {
  readonly row: BackgroundJob
  readonly rule: JobRule
  readonly leaseId: string
  readonly startedAt: Date
}

/** A job that was due. */
export interface ClaimedJob {
  row: BackgroundJob
  /** Whether a worker had it already, and died or lost touch. */
  fromLostWorker: boolean
  /** Null when all its attempts ended so: it failed for good. */
  attempt: Attempt | null
}

const LONGEST_BACKOFF_MS = 3_600_000

/** The state of a job after its last attempt: failed, unless the job was enqueued again meanwhile. */
const GIVEN_UP = {
  state: raw<JobState>("case when rerun_at is null then 'failed' else 'queued' end"),
  attempts: raw<number>('case when rerun_at is null then attempts else 0 end'),
  dueAt: raw<Date>('rerun_at'),
  rerunAt: null,
}

/** The steps of a job's life in its row, each one statement or one transaction: a crash can only come between two. */
export class JobStore {
  readonly #db: Database
  readonly #clock: Clock

  constructor(db: Database, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  /** Adds a job, or asks again for the one that is there; within the caller's transaction, if there is one. */
  async enqueue(em: SqlEntityManager, { name, key, payload, runAt }: NewJob): Promise<void> {
    const now = this.#clock.now()
    const values = [newId('bgj', now), name, key ?? null, JSON.stringify(payload ?? null), runAt ?? now, now]
    await em.execute(ENQUEUE, values, 'run')
  }

  /**
   * Inserts the rows of the periodic jobs, and moves the next run forward when a period has become shorter. All rows
   * are written in one commit, sorted by name, so that nodes that start at once lock them in the same order.
   */
  async plan(periodic: readonly { name: string; everyMs: number }[]): Promise<void> {
    if (periodic.length === 0) return
    const now = this.#clock.now()
    await this.#db.transaction(async (em) => {
      for (const { name, everyMs } of periodic.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
        const dueAt = new Date(now.getTime() + everyMs)
        await em.execute(PLAN, [newId('bgj', now), name, PERIODIC_KEY, 'null', now, now], 'run')
        await em.nativeUpdate(
          BackgroundJob,
          { name, key: PERIODIC_KEY, state: 'queued', dueAt: { $gt: dueAt } },
          { dueAt },
        )
      }
    })
  }

  /** Whether there is something to take. An idle node asks this all day, so it is one small statement that reads. */
  async areDue(names: readonly string[]): Promise<boolean> {
    const places = names.map(() => '?').join(', ')
    const sql = `select 1 from background_jobs where due_at <= ? and name in (${places}) limit 1`
    return (await this.#db.query(sql, [this.#clock.now(), ...names])).length > 0
  }

  /** Takes the job that has been due for longest; null when there is none. */
  async take(rules: ReadonlyMap<string, JobRule>): Promise<ClaimedJob | null> {
    const startedAt = this.#clock.now()
    const leaseId = randomText(12)
    return this.#db.transaction(async (em) => {
      const row = await em.findOne(
        BackgroundJob,
        { dueAt: { $lte: startedAt }, name: { $in: [...rules.keys()] } },
        { orderBy: { dueAt: 'asc' }, lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE },
      )
      if (!row) return null
      const rule = rules.get(row.name) as JobRule
      const fromLostWorker = row.state === 'running'
      // It was asked for again since the last attempt began: this one is the first that does it as it was asked for.
      if (row.rerunAt && row.rerunAt <= startedAt) Object.assign(row, { rerunAt: null, attempts: 0 })
      if (row.attempts >= rule.maxAttempts && !rule.everyMs) {
        Object.assign(row, { state: 'failed', dueAt: null, leaseId: null, error: 'The worker was lost.' })
        return { row, fromLostWorker, attempt: null }
      }
      const dueAt = new Date(startedAt.getTime() + rule.leaseSeconds * 1000)
      Object.assign(row, { state: 'running', dueAt, leaseId, attempts: row.attempts + 1 })
      return { row, fromLostWorker, attempt: { row, rule, leaseId, startedAt } }
    })
  }

  /** @returns false when the job is another attempt's by now */
  async renew(attempt: Attempt): Promise<boolean> {
    const dueAt = new Date(this.#clock.now().getTime() + attempt.rule.leaseSeconds * 1000)
    return (await this.#db.em().nativeUpdate(BackgroundJob, held(attempt), { dueAt })) > 0
  }

  /** It is done: the row goes, unless it was asked for again meanwhile; a periodic job waits for its next turn. */
  async finish(attempt: Attempt): Promise<void> {
    if (attempt.rule.everyMs) return this.#rest(attempt, attempt.rule.everyMs, null)
    await this.#db.transaction(async (em) => {
      if (await em.nativeDelete(BackgroundJob, { ...held(attempt), rerunAt: null })) return
      const again = { state: 'queued', dueAt: raw<Date>('rerun_at'), rerunAt: null, attempts: 0 } as const
      await em.nativeUpdate(BackgroundJob, held(attempt), { ...again, leaseId: null, error: null })
    })
  }

  /** It failed: it waits for its next attempt, and a periodic job for its next turn, or it has failed for good. */
  async fail(attempt: Attempt, error: string): Promise<void> {
    const { row, rule } = attempt
    if (rule.everyMs) return this.#rest(attempt, rule.everyMs, error)
    const backoffMs = Math.min(rule.backoffSeconds * 1000 * 2 ** (row.attempts - 1), LONGEST_BACKOFF_MS)
    const again = { state: 'queued', dueAt: new Date(this.#clock.now().getTime() + backoffMs) } as const
    const next = isLast(attempt) ? GIVEN_UP : again
    await this.#db.em().nativeUpdate(BackgroundJob, held(attempt), { ...next, leaseId: null, error })
  }

  /** It is free to be taken at once, as if this attempt had not been. */
  async giveBack(attempt: Attempt): Promise<void> {
    const free = { state: 'queued', dueAt: this.#clock.now(), attempts: attempt.row.attempts - 1 } as const
    await this.#db.em().nativeUpdate(BackgroundJob, held(attempt), { ...free, leaseId: null })
  }

  /** Forgets jobs that failed for good and were asked for before an instant. Nearly all rows so old are such. */
  async forgetFailed(before: Date, signal: AbortSignal): Promise<void> {
    const where = "state = 'failed' and id < ?"
    const parameters = [firstId('bgj', before)]
    await deleteInBatches(this.#db, { table: 'background_jobs', key: ['id'], where, parameters }, signal)
  }

  /** A periodic job until its next turn. */
  async #rest(attempt: Attempt, everyMs: number, error: string | null): Promise<void> {
    const turn = { state: 'queued', dueAt: new Date(attempt.startedAt.getTime() + everyMs), attempts: 0 } as const
    await this.#db.em().nativeUpdate(BackgroundJob, held(attempt), { ...turn, leaseId: null, error })
  }
}

/** Whether no attempt follows by itself when this one fails. */
export const isLast = ({ row, rule }: Attempt): boolean => row.attempts >= rule.maxAttempts

/** The row as long as this attempt holds it. */
const held = ({ row, leaseId }: Attempt) => ({ id: row.id, leaseId })
