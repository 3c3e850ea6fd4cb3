import { createWriteStream } from 'node:fs'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Images } from '../../../core/images/images.ts'
import type { BlenderExecutor, InputFile, RunEnd } from '../../../drivers/blender/interface.ts'
import type { Storage } from '../../../drivers/storage/interface.ts'
import type { JobRow } from '../entities.ts'
import { FAILURES, type FailureCode } from '../errors.ts'
import { artifactKey, refuse, store, WRITES } from '../jobs/artifacts.ts'
import { LOG_CHARACTERS, type Outcome } from '../jobs/queue.ts'
import type { Artifact, BlenderLimits } from '../schemas.ts'
import { harnessFiles } from './harness-files.ts'

/** The maximum output of a run. A run with more output is ended. */
const LOG_BYTES = 16 * 1024 ** 2
const PREVIEW = { previewSize: 512, previewSamples: 16 }

export interface RunParts {
  executor: BlenderExecutor
  storage: Storage
  images: Images
  limits: BlenderLimits
  /** An existing folder for the temporary files of a run. */
  scratch: string
}

/** The input of a run: the job, its script, and its first scene. */
export interface RunSubject {
  job: Pick<
    JobRow,
    'id' | 'ownerId' | 'action' | 'template' | 'parameters' | 'starterAssets' | 'faceLimit' | 'sourceJobId'
  >
  leaseId: string
  script: string | null
  source: Artifact | null
}

/**
 * Runs a job in Blender and stores its artifacts.
 *
 * @param signal ends it; the outcome is then null
 * @throws ExecutorUnavailable, StorageUnavailable: the job may be run again
 */
export async function runJob(
  parts: RunParts,
  subject: RunSubject,
  { signal, onProgress }: { signal: AbortSignal; onProgress(progress: number, stage: string): void },
): Promise<Outcome | null> {
  const { executor, storage, images, limits, scratch } = parts
  const { job, leaseId } = subject
  const folder = await mkdtemp(join(scratch, 'run-'))
  const log = new RunLog(onProgress)
  try {
    const names = WRITES[job.action]
    const end = await executor.run({
      id: `${job.id}-${leaseId}`,
      files: [...harnessFiles(), requestOf(subject), ...(await sourceOf(storage, subject, folder))],
      main: 'harness/main.py',
      artifacts: ['outcome.json', ...names],
      output: folder,
      limits: {
        timeoutSeconds: limits.blenderTimeoutSeconds,
        artifactBytes: limits.blenderArtifactBytes,
        logBytes: LOG_BYTES,
      },
      signal,
      onLine: (line) => log.add(line),
    })
    if (end.ending === 'cancelled' || signal.aborted) return null
    const failed = await failureOf(end, { folder, names, images, owner: job.ownerId })
    if (failed) return { status: 'failed', ...failed, log: log.text }
    const artifacts: Artifact[] = []
    for (const name of names) artifacts.push(await store(storage, { jobId: job.id, folder, name }))
    return { status: 'completed', artifacts, log: log.text }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function requestOf({ job, script }: RunSubject): InputFile {
  const { action, template, parameters, starterAssets, faceLimit, sourceJobId } = job
  const request = { action, template, parameters, starterAssets, faceLimit, sourceJobId, script, ...PREVIEW }
  return { path: 'request.json', content: JSON.stringify(request) }
}

/** Downloads the scene of an earlier job, because an executor needs local files. */
async function sourceOf(storage: Storage, { job, source }: RunSubject, folder: string): Promise<InputFile[]> {
  if (!source || !job.sourceJobId) return []
  const file = join(folder, 'source.blend')
  await pipeline(await storage.get(artifactKey(job.sourceJobId, source)), createWriteStream(file))
  return [{ path: 'source.blend', content: { file, size: (await stat(file)).size } }]
}

interface Failure {
  code: FailureCode
  message?: string
}

async function failureOf(
  end: RunEnd,
  { folder, names, ...by }: { folder: string; names: readonly Artifact['name'][]; images: Images; owner: string },
): Promise<Failure | null> {
  if (end.ending === 'timeout') return { code: 'timeout' }
  if (end.ending === 'limit_exceeded')
    return { code: 'limit_exceeded', message: LIMITS[end.what] ?? `${end.what} is too large.` }
  if (end.ending === 'invalid_artifact')
    return { code: 'invalid_artifact', message: `${end.name} is no ordinary file.` }
  if (end.ending === 'cancelled') return null
  const outcome = end.artifacts.includes('outcome.json') ? await outcomeOf(join(folder, 'outcome.json')) : null
  if (!outcome) return { code: 'crashed' }
  if (outcome.code) return outcome as Failure
  for (const name of names) {
    if (!end.artifacts.includes(name)) return { code: 'invalid_artifact', message: `${name} is missing.` }
    const reason = await refuse(folder, name, by)
    if (reason) return { code: 'invalid_artifact', message: `${name} ${reason}.` }
  }
  return null
}

const LIMITS: Record<string, string> = {
  memory: 'The job exceeded its memory limit.',
  log: 'The job exceeded its output limit.',
}

/** Reads the harness's report. The script may have written it, so it is untrusted. */
async function outcomeOf(file: string): Promise<Partial<Failure> | null> {
  if ((await stat(file)).size > 65_536) return null
  try {
    const { ok, code, message } = JSON.parse(await readFile(file, 'utf8'))
    if (ok === true) return {}
    if (!Object.hasOwn(FAILURES, code)) return null
    return { code, message: typeof message === 'string' ? message.slice(0, 2000) : FAILURES[code as FailureCode] }
  } catch {
    return null
  }
}

/** The output of a run. Progress lines are reported, the renderer's lines are dropped, and the end is kept. */
class RunLog {
  text = ''
  readonly #onProgress: (progress: number, stage: string) => void

  constructor(onProgress: (progress: number, stage: string) => void) {
    this.#onProgress = onProgress
  }

  add(line: string): void {
    if (line.startsWith('@gameyard ')) {
      const said = parse(line.slice(10))
      if (typeof said?.progress === 'number' && said.progress >= 0 && said.progress <= 1)
        this.#onProgress(said.progress, String(said.message ?? ''))
    } else if (
      !/^(Fra:\d+ |Warning: using insecure memory|could not get a list of mounted|\s*$)|Draco mesh/.test(line)
    ) {
      // Control characters must reach no terminal and no page.
      this.text = `${this.text}${line.replace(/[\p{Cc}\u2028\u2029]/gu, ' ')}\n`
      if (this.text.length > 2 * LOG_CHARACTERS) this.text = this.text.slice(-LOG_CHARACTERS)
    }
  }
}

function parse(text: string): { progress?: unknown; message?: unknown } | null {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
