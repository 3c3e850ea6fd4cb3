import type { Clock } from '../clock.ts'
import { PROGRAM, recordAction } from '../data/audit.ts'
import type { Database } from '../data/database.ts'
import { type JobState, PERIODIC_KEY } from './job-entities.ts'

/** A background job as whoever runs the server sees it; payloads stay out, since they may hold anything. */
export interface QueuedJob {
  id: string
  name: string
  key: string | null
  state: JobState
  /** When it is due; while it runs, when its lease ends. Null once failed. */
  dueAt: Date | null
  attempts: number
  /** Of the last attempt that failed. */
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

/** How many jobs wait, run and have failed for good; periodic jobs that wait for their turn are not counted. */
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

/** The jobs there are: what failed first, then what runs, then what is due next; a hundred at most. */
export async function readJobs(db: Database): Promise<QueuedJob[]> {
  const rows = await db.query<PlainJob>(
    `select id, name, key, state, due_at, attempts, error, created_at from background_jobs
     order by case state when 'failed' then 0 when 'running' then 1 else 2 end, due_at, id limit ?`,
    [MOST],
  )
  return rows.map(({ due_at, created_at, ...row }) => ({
    ...row,
    dueAt: due_at === null ? null : new Date(due_at),
    createdAt: new Date(created_at),
  }))
}

/** Tries a job that failed for good once more. @returns whether there was one */
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
