import { LockMode, raw } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Clock } from '../clock.ts'
import { type Database, deleteInBatches } from '../data/database.ts'
import { firstId, newId, randomText } from '../ids.ts'
import { BackgroundJob, ENQUEUE, type JobState, PERIODIC_KEY, PLAN, PLATFORM } from './job-entities.ts'

export interface NewJob {
  /** The name of the handler. */
  name: string
  /** The subject, at most 200 characters. There is one job for each name and key; see `Jobs.enqueue`. */
  key?: string
  /**
   * Whose work it is, usually the id of a player, at most 100 characters. Owners take turns, so that many jobs of one
   * do not delay those of another. `PLATFORM` for work of no player.
   */
  owner: string
  /** Any value that survives JSON. */
  payload?: unknown
  /** The earliest time of the run; default now. */
  runAt?: Date
}

export interface JobOptions {
  /**
   * Time for which a dead worker keeps its job from others. A live worker renews the lease for as long as the handler
   * runs.
   */
  leaseSeconds?: number
  /** Maximum number of attempts, including those that ended with their process. */
  maxAttempts?: number
  /** Delay after the first failed attempt. It doubles with each further one, up to an hour. */
  backoffSeconds?: number
  /** Maximum number of these jobs that one node runs at once. Default: no limit of their own. */
  concurrency?: number
}

/** The retry rule of the jobs of one name. */
export interface JobRule extends Required<JobOptions> {
  /** Interval between the starts of a periodic job. */
  everyMs: number | null
}

/** One attempt at a job. Its writes have an effect only while it holds the job's lease. */
export interface Attempt {
  readonly row: BackgroundJob
  readonly rule: JobRule
  readonly leaseId: string
  readonly startedAt: Date
}

/** What a node takes into account when it takes a job. */
export interface Turns {
  /** The owners of the jobs that the node runs. */
  running: readonly string[]
  /** Whether the job that the node took last was the platform's. */
  afterPlatform: boolean
  /** The owner of the job of a player that the node took last; empty before the first. */
  last: string
}

/** A due job that was taken. */
export interface ClaimedJob {
  row: BackgroundJob
  /** Whether another worker had taken it and then died or lost its connection. */
  fromLostWorker: boolean
  /** Null when the job failed permanently because all its attempts ended this way. */
  attempt: Attempt | null
}

const LONGEST_BACKOFF_MS = 3_600_000

/** A server that has run no periodic job for as long may have a wrong clock; see `JobStore.plan`. */
const LONG_PAUSE_MS = 30 * 86_400_000
/** The time that an administrator then has to notice it, and the shortest period of the jobs that wait as long. */
const POSTPONED = { byMs: 86_400_000, fromPeriodMs: 3_600_000 }

/** A pause after which periodic jobs wait. */
export interface Pause {
  /** The time at which a periodic job was due last. */
  since: Date
  /** The time until which those of an hour or more wait. */
  until: Date
}

/** The state of a job after its last attempt: failed, unless the job was enqueued again meanwhile. */
const GIVEN_UP = {
  state: raw<JobState>("case when rerun_at is null then 'failed' else 'queued' end"),
  attempts: raw<number>('case when rerun_at is null then attempts else 0 end'),
  dueAt: raw<Date>('rerun_at'),
  rerunAt: null,
}

/**
 * Implements the state changes of jobs. Each one is a single statement or transaction, so a crash can't leave one
 * incomplete.
 */
export class JobStore {
  readonly #db: Database
  readonly #clock: Clock

  constructor(db: Database, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  /** Adds a job, or enqueues the existing one again; within the caller's transaction, if there is one. */
  async enqueue(em: SqlEntityManager, { name, key, owner, payload, runAt }: NewJob): Promise<void> {
    const now = this.#clock.now()
    const values = [newId('bgj', now), name, key ?? null, owner, JSON.stringify(payload ?? null), runAt ?? now, now]
    await em.execute(ENQUEUE, values, 'run')
  }

  /**
   * Inserts the rows of the periodic jobs, and moves the next run forward when a period has become shorter. All rows
   * are written in one commit, sorted by name, so that nodes that start at once lock them in the same order.
   *
   * After a pause of thirty days the jobs that delete what is old wait for a day: the server was off, or its clock is
   * far ahead, and then they would delete what can't be had back. Times that such a clock left behind are corrected,
   * too.
   *
   * @returns the pause; null if there was none
   */
  async plan(periodic: readonly { name: string; everyMs: number }[]): Promise<Pause | null> {
    if (periodic.length === 0) return null
    const now = this.#clock.now()
    const inMs = (ms: number) => new Date(now.getTime() + ms)
    return this.#db.transaction(async (em) => {
      const since = await lastDue(
        em,
        periodic.map(({ name }) => name),
      )
      const until = since && since < inMs(-LONG_PAUSE_MS) ? inMs(POSTPONED.byMs) : null
      for (const { name, everyMs } of periodic.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
        await em.execute(PLAN, [newId('bgj', now), name, PERIODIC_KEY, PLATFORM, 'null', now, now], 'run')
        const row = { name, key: PERIODIC_KEY, state: 'queued' } as const
        if (until && everyMs >= POSTPONED.fromPeriodMs) await em.nativeUpdate(BackgroundJob, row, { dueAt: until })
        else {
          const dueAt = inMs(everyMs)
          await em.nativeUpdate(BackgroundJob, { ...row, dueAt: { $gt: dueAt } }, { dueAt })
        }
      }
      return since && until && { since, until }
    })
  }

  /** Whether a job is due. An idle node polls this constantly, so it is one small SELECT. */
  async areDue(names: readonly string[]): Promise<boolean> {
    const places = names.map(() => '?').join(', ')
    const sql = `select 1 from background_jobs where due_at <= ? and name in (${places}) limit 1`
    return (await this.#db.query(sql, [this.#clock.now(), ...names])).length > 0
  }

  /**
   * Takes a due job; null when there is none. Of one owner it is the job that has been due for the longest time. Owners
   * take turns in the order of their ids, those without a running job first, and every other turn is the platform's.
   */
  async take(rules: ReadonlyMap<string, JobRule>, turns: Turns): Promise<ClaimedJob | null> {
    const startedAt = this.#clock.now()
    const leaseId = randomText(12)
    return this.#db.transaction(async (em) => {
      const due = { dueAt: { $lte: startedAt }, name: { $in: [...rules.keys()] } }
      let row: BackgroundJob | null = null
      // The sort order is that of the index, so each of these reads one row, however many are due.
      for (const owner of orderOf(turns)) {
        row = await em.findOne(
          BackgroundJob,
          { ...due, owner },
          { orderBy: { owner: 'asc', dueAt: 'asc' }, lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE },
        )
        if (row) break
      }
      if (!row) return null
      const rule = rules.get(row.name) as JobRule
      const fromLostWorker = row.state === 'running'
      // The job was enqueued again after the last attempt began, so the attempts for the new request start here.
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

  /** @returns false when the job belongs to another attempt by now */
  async renew(attempt: Attempt): Promise<boolean> {
    const dueAt = new Date(this.#clock.now().getTime() + attempt.rule.leaseSeconds * 1000)
    return (await this.#db.em().nativeUpdate(BackgroundJob, held(attempt), { dueAt })) > 0
  }

  /**
   * Completes a job: deletes the row, unless the job was enqueued again meanwhile. A periodic job waits for its next
   * run.
   */
  async finish(attempt: Attempt): Promise<void> {
    if (attempt.rule.everyMs) return this.#rest(attempt, attempt.rule.everyMs, null)
    await this.#db.transaction(async (em) => {
      if (await em.nativeDelete(BackgroundJob, { ...held(attempt), rerunAt: null })) return
      const again = { state: 'queued', dueAt: raw<Date>('rerun_at'), rerunAt: null, attempts: 0 } as const
      await em.nativeUpdate(BackgroundJob, held(attempt), { ...again, leaseId: null, error: null })
    })
  }

  /**
   * Records a failed attempt: the job waits for its next attempt, or a periodic job for its next run, or it has failed
   * permanently.
   */
  async fail(attempt: Attempt, error: string): Promise<void> {
    const { row, rule } = attempt
    if (rule.everyMs) return this.#rest(attempt, rule.everyMs, error)
    const backoffMs = Math.min(rule.backoffSeconds * 1000 * 2 ** (row.attempts - 1), LONGEST_BACKOFF_MS)
    const again = { state: 'queued', dueAt: new Date(this.#clock.now().getTime() + backoffMs) } as const
    const next = isLast(attempt) ? GIVEN_UP : again
    await this.#db.em().nativeUpdate(BackgroundJob, held(attempt), { ...next, leaseId: null, error })
  }

  /** Releases a job to be taken at once; this attempt does not count. */
  async giveBack(attempt: Attempt): Promise<void> {
    const free = { state: 'queued', dueAt: this.#clock.now(), attempts: attempt.row.attempts - 1 } as const
    await this.#db.em().nativeUpdate(BackgroundJob, held(attempt), { ...free, leaseId: null })
  }

  /** Deletes permanently failed jobs that were enqueued before an instant. Nearly all rows that old are such jobs. */
  async forgetFailed(before: Date, signal: AbortSignal): Promise<void> {
    const where = "state = 'failed' and id < ?"
    const parameters = [firstId('bgj', before)]
    await deleteInBatches(this.#db, { table: 'background_jobs', key: ['id'], where, parameters }, signal)
  }

  /** Schedules the next run of a periodic job. */
  async #rest(attempt: Attempt, everyMs: number, error: string | null): Promise<void> {
    const turn = { state: 'queued', dueAt: new Date(attempt.startedAt.getTime() + everyMs), attempts: 0 } as const
    await this.#db.em().nativeUpdate(BackgroundJob, held(attempt), { ...turn, leaseId: null, error })
  }
}

/** Returns the latest time at which one of these periodic jobs was or is due; null before the first start. */
async function lastDue(em: SqlEntityManager, names: string[]): Promise<Date | null> {
  const [row] = await em.find(
    BackgroundJob,
    { key: PERIODIC_KEY, name: { $in: names } },
    { orderBy: { dueAt: 'desc' }, limit: 1, fields: ['dueAt'], disableIdentityMap: true },
  )
  return row?.dueAt ?? null
}

/** The owners to ask for a due job, in this order: conditions on the column `owner`. */
function orderOf({ running, afterPlatform, last }: Turns) {
  const idle = { $nin: running.filter((owner) => owner !== PLATFORM) }
  const platform = { $eq: PLATFORM }
  const players = [{ $gt: last, ...idle }, { $gt: PLATFORM, ...idle }, { $gt: last }, { $gt: PLATFORM }]
  return afterPlatform ? [...players, platform] : [platform, ...players]
}

/** Whether no automatic attempt follows when this one fails. */
export const isLast = ({ row, rule }: Attempt): boolean => row.attempts >= rule.maxAttempts

/** Selects the row only while this attempt holds it. */
const held = ({ row, leaseId }: Attempt) => ({ id: row.id, leaseId })
