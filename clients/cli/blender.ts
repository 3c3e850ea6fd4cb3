import { setTimeout as wait } from 'node:timers/promises'
import type { Api } from './api.ts'
import { CliError } from './errors.ts'

/** The fields of a Blender job that the command line shows. */
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
  /** The end of the output of a failed job. */
  log?: string
  artifacts: { name: string; size: number }[]
  assetId: string | null
}

/** A difference between the scene of a job and its model, or a message of the script. */
export interface Warning {
  code: string
  object: string | null
  message: string
}

/** An asset that is being generated, as the platform describes it. */
export interface Generation {
  id: string
  name: string
  status: 'writing' | Job['status']
  /** The current job. A prompt may take several jobs, and has none while the platform writes its script. */
  jobId: string | null
  assetId: string | null
  error: { code: string; message: string } | null
}

export const JOBS = '/api/blender/v1/jobs'
export const GENERATIONS = '/api/generations'

const POLL_MS = 1000
/** A platform resumes its jobs after a restart, so the command continues to watch for this long. */
const PATIENCE_MS = 60_000

interface Watching<T> {
  origin: string
  /** Called on every change. */
  told: (news: T) => void
  signal: AbortSignal
}

const isOver = (status: string): boolean => !['writing', 'queued', 'running'].includes(status)

/** Waits until a job is over. */
export async function watchJob(api: Api, id: string, { origin, told, signal }: Watching<Job>): Promise<Job> {
  for await (const job of changes(() => jobOf(api, id, origin), newsOf, signal)) {
    told(job)
    if (isOver(job.status)) return job
  }
  throw signal.reason
}

/** Waits until the generation of an asset has ended, through all of its jobs. */
export async function watchGeneration(
  api: Api,
  id: string,
  { origin, told, signal }: Watching<{ generation: Generation; job: Job | null }>,
): Promise<{ generation: Generation; job: Job | null }> {
  const look = async () => {
    const generation = await api.get<Generation>(`${GENERATIONS}/${encodeURIComponent(id)}`, { origin })
    return { generation, job: generation.jobId === null ? null : await jobOf(api, generation.jobId, origin) }
  }
  const what = ({ generation, job }: Awaited<ReturnType<typeof look>>) =>
    JSON.stringify([generation.status, generation.jobId, job && newsOf(job)])
  for await (const news of changes(look, what, signal)) {
    told(news)
    if (isOver(news.generation.status)) return news
  }
  throw signal.reason
}

/** Fetches what a completed job warns of; nothing where its action writes no inspection. */
export async function warningsOf(api: Api, { id, artifacts }: Job, origin: string): Promise<Warning[]> {
  if (!artifacts.some(({ name }) => name === 'inspection.json')) return []
  const path = `${JOBS}/${encodeURIComponent(id)}/artifacts/inspection.json`
  return (await api.get<{ warnings?: Warning[] }>(path, { origin })).warnings ?? []
}

const jobOf = (api: Api, id: string, origin: string): Promise<Job> =>
  api.get<Job>(`${JOBS}/${encodeURIComponent(id)}`, { origin })

const newsOf = ({ status, progress, stage, queuePosition }: Job): string =>
  JSON.stringify([status, progress, stage, queuePosition])

/** Polls, and yields each changed result. @throws when nothing has answered for a while */
async function* changes<T>(ask: () => Promise<T>, what: (found: T) => string, signal: AbortSignal): AsyncGenerator<T> {
  let seen = ''
  let lastAnswer = Date.now()
  for (;;) {
    const found = await ask().catch((error) => {
      if (!(error instanceof CliError && error.code === 'unreachable')) throw error
      if (Date.now() - lastAnswer > PATIENCE_MS) throw error
      return null
    })
    if (found !== null) {
      lastAnswer = Date.now()
      const now = what(found)
      if (now !== seen) yield found
      seen = now
    }
    await wait(POLL_MS, undefined, { signal })
  }
}
