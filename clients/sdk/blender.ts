import { type CallOptions, type Connection, pause } from './connection.ts'
import { ConnectionError, GameyardError } from './errors.ts'
import { type List, list } from './lists.ts'
import { asFile } from './response-body.ts'
import type { Answer, Body, Query } from './types.ts'

export type BlenderJob = Answer<'/api/blender/v1/jobs/{id}', 'get'>
export type NewBlenderJob = Body<'/api/blender/v1/jobs', 'post'>
export type BlenderAction = Body<'/api/blender/v1/jobs/{id}/actions', 'post'>
export type BlenderJobQuery = Query<'/api/blender/v1/jobs', 'get'>
export type BlenderHealth = Answer<'/api/blender/health', 'get'>
export type BlenderCapabilities = Answer<'/api/blender/v1/capabilities', 'get'>
export type BlenderTemplate = Answer<'/api/blender/v1/templates', 'get'>['templates'][number]
export type BlenderStarter = Answer<'/api/blender/v1/library', 'get'>['starters'][number]
export type BlenderArtifact = Answer<'/api/blender/v1/jobs/{id}/artifacts', 'get'>['artifacts'][number]

/** A difference between the scene of a job and its model, or a message of the script by `job.warn`. */
export interface BlenderWarning {
  /** Such as `triangles_differ`, `material_differs` or `script`. */
  code: string
  /** The name of an object, material or action. */
  object: string | null
  message: string
}

/** The file inspection.json of a job: what its model contains. */
export interface BlenderInspection {
  blender: string
  objects: { name: string; vertices: number; triangles: number; materials: string[] }[]
  totals: Record<'objects' | 'meshes' | 'vertices' | 'triangles' | 'materials' | 'images' | 'bones', number>
  bounds: { min: number[]; max: number[]; size: number[] } | null
  animations: string[]
  warnings: BlenderWarning[]
}

/** Thrown when a job ends in any state but completed. */
export class BlenderJobError extends GameyardError {
  override name = 'BlenderJobError'
  readonly job: BlenderJob

  constructor(job: BlenderJob) {
    const { id, status, error } = job
    super(error?.code ?? status, `The job ${id} was ${status}${error ? `: ${error.message}` : '.'}`)
    this.job = job
  }
}

const JOBS = '/api/blender/v1/jobs'
const at = (id: string) => `${JOBS}/${encodeURIComponent(id)}`
const studio = { origin: 'studio' } as const

/** Submits a job. Needs `assets:generate`. */
export const submitBlenderJob = (
  connection: Connection,
  job: NewBlenderJob,
  options?: CallOptions,
): Promise<BlenderJob> => connection.json('POST', JOBS, { body: job, ...studio, ...options })

/** Fetches a job. Needs `assets:read`. */
export const getBlenderJob = (connection: Connection, id: string, options?: CallOptions): Promise<BlenderJob> =>
  connection.json('GET', at(id), { ...studio, ...options })

/** Lists your jobs, newest first. Needs `assets:read`. */
export const listBlenderJobs = (
  connection: Connection,
  { signal, ...query }: CallOptions & BlenderJobQuery = {},
): List<BlenderJob> => list(connection, JOBS, 'jobs', { query: query as Record<string, string>, signal, ...studio })

/** Cancels a waiting or running job. Needs `assets:write`. */
export const cancelBlenderJob = (connection: Connection, id: string, options?: CallOptions): Promise<BlenderJob> =>
  connection.json('POST', `${at(id)}/cancel`, { ...studio, ...options })

/** Queues more work on a completed job: revise, render, inspect or export. Needs `assets:generate`. */
export const actOnBlenderJob = (
  connection: Connection,
  id: string,
  action: BlenderAction,
  options?: CallOptions,
): Promise<BlenderJob> => connection.json('POST', `${at(id)}/actions`, { body: action, ...studio, ...options })

export const listBlenderArtifacts = async (
  connection: Connection,
  id: string,
  options?: CallOptions,
): Promise<BlenderArtifact[]> =>
  (
    await connection.json<Answer<'/api/blender/v1/jobs/{id}/artifacts', 'get'>>('GET', `${at(id)}/artifacts`, {
      ...studio,
      ...options,
    })
  ).artifacts

/** Fetches a file of a job with a streaming body. */
export const getBlenderArtifact = (
  connection: Connection,
  id: string,
  name: BlenderArtifact['name'],
  options?: CallOptions,
): Promise<Response> =>
  connection.receive(
    'GET',
    `${at(id)}/artifacts/${encodeURIComponent(name)}`,
    { headers: { accept: '*/*' }, ...studio, ...options },
    asFile,
  )

/** Fetches the inspection of a completed job. Not every action writes one: `render` does not. */
export const getBlenderInspection = async (
  connection: Connection,
  id: string,
  options?: CallOptions,
): Promise<BlenderInspection> =>
  (await (await getBlenderArtifact(connection, id, 'inspection.json', options)).json()) as BlenderInspection

export const getBlenderHealth = (connection: Connection, options?: CallOptions): Promise<BlenderHealth> =>
  connection.json('GET', '/api/blender/health', { ...studio, ...options })

/** Fetches the capabilities of jobs on this platform: actions, inputs, limits. */
export const getBlenderCapabilities = (connection: Connection, options?: CallOptions): Promise<BlenderCapabilities> =>
  connection.json('GET', '/api/blender/v1/capabilities', { ...studio, ...options })

/** Lists scene templates and their parameters. */
export const listBlenderTemplates = async (connection: Connection, options?: CallOptions): Promise<BlenderTemplate[]> =>
  (
    await connection.json<{ templates: BlenderTemplate[] }>('GET', '/api/blender/v1/templates', {
      ...studio,
      ...options,
    })
  ).templates

/** Lists the objects available to scenes. */
export const listBlenderStarters = async (connection: Connection, options?: CallOptions): Promise<BlenderStarter[]> =>
  (await connection.json<{ starters: BlenderStarter[] }>('GET', '/api/blender/v1/library', { ...studio, ...options }))
    .starters

export interface WaitOptions extends CallOptions {
  /** Called at each poll that finds the job changed. */
  onProgress?: ((job: BlenderJob) => void) | undefined
  /** The initial polling interval in ms, which grows to five times that. Default: 500 */
  intervalMs?: number | undefined
  /** Default: ten minutes */
  timeoutMs?: number | undefined
}

/** Waits until a job is completed. @throws BlenderJobError when it fails or is cancelled, ConnectionError in the end */
export async function waitForBlenderJob(
  connection: Connection,
  id: string,
  { signal, onProgress, intervalMs = 500, timeoutMs = 600_000 }: WaitOptions = {},
): Promise<BlenderJob> {
  const deadline = Date.now() + timeoutMs
  let seen = ''
  for (let wait = intervalMs; ; wait = Math.min(wait * 1.3, intervalMs * 5)) {
    const job = await getBlenderJob(connection, id, { signal })
    const now = JSON.stringify(job)
    if (now !== seen) onProgress?.(job)
    seen = now
    if (job.status === 'completed') return job
    if (job.status === 'failed' || job.status === 'cancelled') throw new BlenderJobError(job)
    if (Date.now() + wait > deadline) throw new ConnectionError('timeout', `The job ${id} is still ${job.status}.`)
    await pause(wait, signal)
  }
}
