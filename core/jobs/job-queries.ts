import type { Clock } from '../clock.ts'
import { PROGRAM, recordAction } from '../data/audit.ts'
import type { Database } from '../data/database.ts'
import { type JobState, PERIODIC_KEY } from './job-entities.ts'

/** A background job for the operator. It omits the payload, which may contain anything. */
export interface QueuedJob {
  id: string
  name: string
  key: string | null
  state: JobState
  /** The due time; while the job runs, the end of its lease. Null for a failed job. */
  dueAt: Date | null
  attempts: number
  /** The error of the last failed attempt. */
  error: string | null
  createdAt: Date
}

interface PlainJob {
  id: string
  name: string
  key: string | null
  state: JobState
  due_at: number | null
  attempts: number
  error: string | null
  created_at: number
}

const MOST = 100

/** Counts the queued, running and permanently failed jobs, without periodic jobs that wait for their next run. */
export async function countJobs(db: Database): Promise<Record<JobState, number>> {
  const rows = await db.query<{ state: JobState; jobs: number }>(
    `select state, count(*) as jobs from background_jobs
     where not (state = 'queued' and coalesce(key, '') = ? and error is null) group by state`,
    [PERIODIC_KEY],
  )
  const counts = { queued: 0, running: 0, failed: 0 }
  for (const { state, jobs } of rows) counts[state] = Number(jobs)
  return counts
}

/** Jobs of one name whose last attempt has failed and that are tried again. */
export interface Retries {
  name: string
  jobs: number
  /** The error of one of them. */
  error: string
}

/** Returns what fails at present and is tried again, by name. */
export async function readRetries(db: Database): Promise<Retries[]> {
  const rows = await db.query<Retries>(
    `select name, count(*) as jobs, max(error) as error from background_jobs
     where state = 'queued' and error is not null group by name order by name`,
  )
  return rows.map(({ jobs, ...row }) => ({ ...row, jobs: Number(jobs) }))
}

/**
 * Lists at most a hundred jobs: failed ones first, then running ones, then those whose last attempt has failed, then those
 * that are due next.
 */
export async function readJobs(db: Database): Promise<QueuedJob[]> {
  const rows = await db.query<PlainJob>(
    `select id, name, key, state, due_at, attempts, error, created_at from background_jobs
     order by case when state = 'failed' then 0 when state = 'running' then 1 when error is not null then 2 else 3 end,
       due_at, id limit ?`,
    [MOST],
  )
  return rows.map(({ due_at, created_at, ...row }) => ({
    ...row,
    dueAt: due_at === null ? null : new Date(due_at),
    createdAt: new Date(created_at),
  }))
}

/** Retries a permanently failed job. @returns whether the job existed */
export function retryJob(db: Database, clock: Clock, id: string, by = PROGRAM): Promise<boolean> {
  return db.groupCommit(async (statements) => {
    const rows = await statements.execute(
      "update background_jobs set state = 'queued', due_at = ?, attempts = 0 where id = ? and state = 'failed'",
      [clock.now(), id],
    )
    if (rows > 0) await recordAction(statements, clock, { by, action: 'job.retry', target: { kind: 'job', id } })
    return rows > 0
  })
}

/** Whether a job is periodic. */
export const isPeriodic = ({ key }: QueuedJob): boolean => key === PERIODIC_KEY
