import { setTimeout as wait } from 'node:timers/promises'
import type { Api } from './api.ts'
import { CliError } from './errors.ts'

/** A Blender job as the platform describes it; what the command line shows of it. */
export interface Job {
  id: string
  name: string
  action: string
  status: 'queued' | 'running' | 'completed' | 'failed' | 'cancelled'
  progress: number
  stage?: string | null
  queuePosition: number | null
  timing: { queuedAt: string; startedAt: string | null; finishedAt: string | null; runMs: number | null }
  error: { code: string; message: string } | null
  artifacts: { name: string; size: number }[]
  assetId: string | null
}

export const JOBS = '/api/blender/v1/jobs'

const POLL_MS = 1000
/** A platform that restarts takes its jobs up again: watching goes on as well. */
const PATIENCE_MS = 60_000

/**
 * Waits until a job is over.
 *
 * @param told hears of every change
 */
export async function watchJob(
  api: Api,
  id: string,
  { origin, told, signal }: { origin: string; told: (job: Job) => void; signal: AbortSignal },
): Promise<Job> {
  let seen = ''
  let lastAnswer = Date.now()
  for (;;) {
    const job = await api.get<Job>(`${JOBS}/${encodeURIComponent(id)}`, { origin }).catch((error) => {
      if (!(error instanceof CliError && error.code === 'unreachable')) throw error
      if (Date.now() - lastAnswer > PATIENCE_MS) throw error
      return null
    })
    if (job) {
      lastAnswer = Date.now()
      const now = JSON.stringify([job.status, job.progress, job.stage, job.queuePosition])
      if (now !== seen) told(job)
      seen = now
      if (!['queued', 'running'].includes(job.status)) return job
    }
    await wait(POLL_MS, undefined, { signal })
  }
}
