import type { Readable } from 'node:stream'
import { json } from 'node:stream/consumers'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import { InvalidRequest, NotFound } from '../../../core/errors.ts'
import { SESSION_MS, type Stream } from '../../../core/http/event-streams.ts'
import { cutPage } from '../../../core/http/pagination.ts'
import { isId, newId } from '../../../core/ids.ts'
import { visibleText } from '../../../core/visible-text.ts'
import type { Availability } from '../../../drivers/blender/interface.ts'
import { assertRoom, BlobNotFound, type Range, type Storage } from '../../../drivers/storage/interface.ts'
import type { Library } from '../catalog/starters.ts'
import { assertSize, type Templates } from '../catalog/templates.ts'
import { JobRow, JobText, WorkerRow } from '../entities.ts'
import { BlenderIncomplete, BlenderNotConfigured, NotCancellable, NotCompleted } from '../errors.ts'
import type { Inspection } from '../pages/job-page.ts'
import type { Artifact, BlenderLimits, Health, Job, JobQuery, JobStatus, NewAction, NewJob } from '../schemas.ts'
import { WORKER_LIVES_MS, type Worker } from '../worker/worker.ts'
import { artifactKey } from './artifacts.ts'
import type { Queue } from './queue.ts'

declare module '../../../core/events.ts' {
  interface DomainEvents {
    /** A Blender job was queued, started, progressed or ended. */
    'blender.job': { jobId: string; ownerId: string; status: JobStatus; progress: number; stage: string | null }
  }
}

type Parts = Pick<FastifyInstance, 'db' | 'clock' | 'events'> & {
  storage: Storage
  queue: Queue
  worker: Worker
  executorName: string
  templates: Templates
  library: Library
  limits: BlenderLimits
}

/** The purpose of a job's result. */
interface Further {
  purpose: JobRow['purpose']
  generationId?: string
  /** Runs in the transaction that queues the job. */
  with?(em: SqlEntityManager, jobId: string): Promise<unknown>
}

/** Blender jobs of players: the public interface of the plugin, `app.blender`. */
export class BlenderJobs {
  readonly templates: Templates
  readonly library: Library
  readonly limits: BlenderLimits
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
    this.templates = parts.templates
    this.library = parts.library
    this.limits = parts.limits
  }

  /**
   * Queues a job.
   *
   * @throws BlenderNotConfigured, QueueFull, QuotaExceeded, StorageFull, InvalidRequest; NotFound and NotCompleted of the source
   */
  async submit(ownerId: string, request: NewJob, further: Further = { purpose: 'job' }): Promise<Job> {
    const fields = await this.check(ownerId, request)
    await this.#mustHaveWorker()
    await assertRoom(this.#parts.storage)
    const { clock, queue } = this.#parts
    const id = newId('job', clock.now())
    const { purpose, generationId, with: also } = further
    await queue.submit(
      { ...fields, id, ownerId, purpose, ...(generationId ? { generationId } : {}) },
      also && ((em) => also(em, id)),
    )
    const job = await this.#mustOwn(ownerId, id)
    await this.changed(job)
    return this.#toJob(job)
  }

  /**
   * Requires that a job of this player could be queued now, for work that costs something before there is a job.
   *
   * @throws BlenderNotConfigured, QueueFull, QuotaExceeded, StorageFull
   */
  async assertAdmissible(ownerId: string): Promise<void> {
    await this.#mustHaveWorker()
    await assertRoom(this.#parts.storage)
    await this.#parts.queue.assertRoom(ownerId)
  }

  /** Checks a request and fills in all defaults. @throws as `submit`, except errors that depend on the current state */
  async check(ownerId: string, request: NewJob) {
    const { name, sourceJobId = null, template = null, starterAssets = [], script = null } = request
    const action = request.action ?? (sourceJobId ? 'revise' : 'create')
    if (action === 'create' && sourceJobId)
      throw new InvalidRequest('sourceJobId goes with revise, render, inspect or export.')
    if (action !== 'create' && !sourceJobId) throw new InvalidRequest(`${action} needs a sourceJobId: a completed job.`)
    if (action !== 'create' && template)
      throw new InvalidRequest('template goes with create only; the scene has been made.')
    if (action === 'create' && !template && !script && starterAssets.length === 0)
      throw new InvalidRequest('There is nothing to make: send a template, starterAssets or a script.')
    const { blenderScriptBytes, blenderMaxFaces } = this.limits
    if (script !== null && Buffer.byteLength(script) > blenderScriptBytes)
      throw new InvalidRequest(`script is ${Buffer.byteLength(script)} bytes; ${blenderScriptBytes} is the most.`)
    const faceLimit = request.faceLimit ?? blenderMaxFaces
    if (faceLimit > blenderMaxFaces) throw new InvalidRequest(`faceLimit is above ${blenderMaxFaces}.`)
    const unknown = starterAssets.find((id) => !this.library.has(id))
    if (unknown !== undefined)
      throw new InvalidRequest(`There is no starter ${unknown}; GET /api/blender/v1/library lists them.`)
    const parameters = await this.#parametersOf(ownerId, template, sourceJobId, request.parameters ?? {})
    return { name: visibleText(name), action, template, parameters, starterAssets, faceLimit, sourceJobId, script }
  }

  /** Queues another job on a completed job's scene. @throws as `submit` */
  async act(ownerId: string, sourceJobId: string, { action, script, parameters, name }: NewAction): Promise<Job> {
    const source = await this.#mustOwn(ownerId, sourceJobId)
    return this.submit(ownerId, {
      name: name ?? source.name,
      action,
      sourceJobId,
      faceLimit: source.faceLimit,
      ...(script === undefined ? {} : { script }),
      ...(parameters === undefined ? {} : { parameters }),
    })
  }

  /** Returns a job. @throws NotFound when the job is not the player's */
  async get(ownerId: string, id: string): Promise<Job> {
    return this.#toJob(await this.#mustOwn(ownerId, id))
  }

  /** Returns the script of a job and the output of its run, which its record omits. @throws NotFound */
  async text(ownerId: string, id: string): Promise<{ script: string | null; log: string }> {
    await this.#mustOwn(ownerId, id)
    const text = await this.#parts.db.em().findOne(JobText, { jobId: id })
    return { script: text?.script ?? null, log: text?.log ?? '' }
  }

  /** Lists the player's jobs, newest first. */
  async list(
    ownerId: string,
    { limit, cursor, status, action }: JobQuery,
  ): Promise<{ jobs: Job[]; nextCursor: string | null }> {
    const rows = await this.#parts.db.em().find(
      JobRow,
      {
        ownerId,
        purpose: { $ne: 'thumbnail' },
        ...(status ? { status } : {}),
        ...(action ? { action } : {}),
        ...(cursor ? { id: { $lt: cursor } } : {}),
      },
      { orderBy: { id: 'desc' }, limit: limit + 1 },
    )
    const { page, nextCursor } = cutPage(rows, limit)
    const waits = page.some((row) => row.status === 'queued')
    const places = waits ? await this.#parts.queue.positions(ownerId) : new Map<string, number>()
    return { jobs: page.map((row) => toJob(row, places.get(row.id) ?? null)), nextCursor }
  }

  /** Cancels a job. @throws NotFound, NotCancellable when it has ended */
  async cancel(ownerId: string, id: string): Promise<Job> {
    await this.#mustOwn(ownerId, id)
    const cancelled = await this.#parts.queue.cancel(id)
    const job = await this.#mustOwn(ownerId, id)
    if (cancelled) await this.changed(job)
    // A repeated cancellation is not an error.
    else if (job.status !== 'cancelled') throw new NotCancellable(`it has ${job.status}`)
    return this.#toJob(job)
  }

  /** Opens a file of a job. @throws NotFound when there is none, or the job is not the player's */
  async openArtifact(
    ownerId: string,
    id: string,
    name: string,
  ): Promise<{ artifact: Artifact; read(range?: Range): Promise<Readable> }> {
    const job = await this.#mustOwn(ownerId, id)
    const artifact = job.artifacts.find((candidate) => candidate.name === name)
    if (!artifact) throw new NotFound('artifact')
    const read = async (range?: Range) => {
      try {
        return await this.#parts.storage.get(artifactKey(id, artifact), range)
      } catch (error) {
        // The job was deleted after its row was read.
        if (error instanceof BlobNotFound) throw new NotFound('artifact')
        throw error
      }
    }
    return { artifact, read }
  }

  /** Returns the inspection of a job; null when there is none. @throws NotFound when the job is not the player's */
  async inspection(ownerId: string, id: string): Promise<Inspection | null> {
    const job = await this.#mustOwn(ownerId, id)
    if (!job.artifacts.some(({ name }) => name === 'inspection.json')) return null
    const { read } = await this.openArtifact(ownerId, id, 'inspection.json')
    return (await json(await read())) as Inspection
  }

  /**
   * Streams the job as server-sent events (`event: job`, its record as data), until it ends or the session must be
   * checked again.
   */
  stream(ownerId: string, id: string): Stream {
    const look = async () => {
      const job = await this.get(ownerId, id)
      return { event: 'job', data: job, over: job.status !== 'queued' && job.status !== 'running' }
    }
    return { key: id, shows: `job for ${ownerId}`, look, longestMs: SESSION_MS }
  }

  /** Registers this process as a worker before there is a job, for a process that only runs jobs. */
  async takeJobs(): Promise<Availability> {
    const { worker } = this.#parts
    const found = await worker.availability()
    if (found.available) await worker.announce()
    return found
  }

  /** Requires a complete Blender. @throws BlenderIncomplete when Blender could not export a job's model */
  async assertComplete(): Promise<void> {
    const own = await this.#parts.worker.availability()
    if (own.available && own.missing && (await this.#workers()).length === 0) throw new BlenderIncomplete(own.missing)
  }

  /** Returns the status of the workers: the number of their jobs, and whether there are any. */
  async health(): Promise<Health> {
    const { queue, executorName, library } = this.#parts
    const own = await this.takeJobs()
    const workers = await this.#workers()
    const counts = await queue.counts()
    const [first] = workers
    const shared = { active: counts.running, queued: counts.queued, library: library.health() }
    if (!first)
      return {
        executor: executorName,
        status: !own.available ? 'unavailable' : own.missing ? 'incomplete' : 'ok',
        ...(own.available ? own.missing && { reason: own.missing } : { reason: own.reason }),
        blenderVersion: own.available ? own.blenderVersion : null,
        capacity: 0,
        ...shared,
      }
    const capacity = workers.reduce((sum, { capacity }) => sum + capacity, 0)
    return { executor: first.executor, status: 'ok', blenderVersion: first.blenderVersion, capacity, ...shared }
  }

  /** Emits an event for a changed job. */
  async changed({ id, ownerId, status, progress, stage }: JobRow): Promise<void> {
    await this.#parts.events.emit('blender.job', { jobId: id, ownerId, status, progress, stage: stage ?? null })
  }

  async #workers(): Promise<WorkerRow[]> {
    const since = new Date(this.#parts.clock.now().getTime() - WORKER_LIVES_MS)
    return this.#parts.db.em().find(WorkerRow, { seenAt: { $gt: since } }, { orderBy: { id: 'asc' } })
  }

  /** Requires a worker. @throws BlenderNotConfigured when no worker would run a job */
  async #mustHaveWorker(): Promise<void> {
    if ((await this.#workers()).length > 0) return
    const own = await this.takeJobs()
    if (!own.available) throw new BlenderNotConfigured(own.reason)
  }

  async #parametersOf(
    ownerId: string,
    templateId: string | null,
    sourceJobId: string | null,
    given: Record<string, unknown>,
  ): Promise<Record<string, unknown>> {
    assertSize(given)
    if (sourceJobId) {
      const source = await this.#mustOwn(ownerId, sourceJobId)
      if (source.status !== 'completed' || !source.artifacts.some(({ name }) => name === 'scene.blend'))
        throw new NotCompleted()
      return { ...source.parameters, ...given }
    }
    if (!templateId) return given
    const template = this.templates.find(templateId)
    if (!template)
      throw new InvalidRequest(`There is no template ${templateId}; GET /api/blender/v1/templates lists them.`)
    return this.templates.complete(template, given)
  }

  async #mustOwn(ownerId: string, id: string): Promise<JobRow> {
    const row = isId('job', id) ? await this.#parts.db.em().findOne(JobRow, { id, ownerId }) : null
    if (!row) throw new NotFound('job')
    return row
  }

  async #toJob(row: JobRow): Promise<Job> {
    const places = row.status === 'queued' ? await this.#parts.queue.positions(row.ownerId) : null
    return toJob(row, places?.get(row.id) ?? null)
  }
}

function toJob(row: JobRow, queuePosition: number | null): Job {
  const { queuedAt, startedAt, finishedAt } = row
  return {
    id: row.id,
    name: row.name,
    action: row.action,
    status: row.status,
    progress: row.progress,
    stage: row.stage ?? null,
    queuePosition,
    template: row.template ?? null,
    parameters: row.parameters,
    starterAssets: row.starterAssets,
    faceLimit: row.faceLimit,
    sourceJobId: row.sourceJobId ?? null,
    attempts: row.attempts,
    timing: {
      queuedAt: queuedAt.toISOString(),
      startedAt: startedAt?.toISOString() ?? null,
      finishedAt: finishedAt?.toISOString() ?? null,
      runMs: startedAt && finishedAt ? finishedAt.getTime() - startedAt.getTime() : null,
    },
    error: row.errorCode ? { code: row.errorCode, message: row.errorMessage ?? '' } : null,
    artifacts: row.artifacts,
    assetId: row.assetId ?? null,
  }
}
