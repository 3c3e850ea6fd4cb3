import type { Readable } from 'node:stream'
import { json } from 'node:stream/consumers'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import { InvalidRequest, NotFound } from '../../../core/errors.ts'
import { SESSION_MS, type Stream } from '../../../core/http/event-streams.ts'
import { cutPage, mustBeCursor } from '../../../core/http/pagination.ts'
import { isId, newId } from '../../../core/ids.ts'
import { visibleText } from '../../../core/visible-text.ts'
import type { Availability } from '../../../drivers/blender/interface.ts'
import { assertRoom, BlobNotFound, type Range, type Storage } from '../../../drivers/storage/interface.ts'
import { recordActivity } from '../../games/index.ts'
import type { Library } from '../catalog/starters.ts'
import { assertSize, type Templates } from '../catalog/templates.ts'
import { JobRow, JobText, WorkerRow } from '../entities.ts'
import { BlenderIncomplete, BlenderNotConfigured, NotCancellable, NotCompleted } from '../errors.ts'
import type { Inspection } from '../pages/job-page.ts'
import type { Artifact, BlenderLimits, Health, Job, JobQuery, JobStatus, NewAction, NewJob } from '../schemas.ts'
import { WORKER_LIVES_MS, type Worker } from '../worker/worker.ts'
import { JobAccess } from './access.ts'
import { artifactKey } from './artifacts.ts'
import type { Queue } from './queue.ts'

declare module '../../../core/events.ts' {
  interface DomainEvents {
    /** A Blender job was queued, started, progressed or ended. */
    'blender.job': { jobId: string; ownerId: string; status: JobStatus; progress: number; stage: string | null }
  }
}

type Parts = Pick<FastifyInstance, 'db' | 'clock' | 'events' | 'games'> & {
  storage: Storage
  queue: Queue
  worker: Worker
  executorName: string
  templates: Templates
  library: Library
  limits: BlenderLimits
}

/** The lines of its log that a failed job shows. */
const SHOWN_LOG_LINES = 40

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
  readonly access: JobAccess
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
    this.templates = parts.templates
    this.library = parts.library
    this.limits = parts.limits
    this.access = new JobAccess(parts)
  }

  /**
   * Queues a job.
   *
   * @param request.gameId the id or slug of a game that the player makes; default: the game of the source
   * @throws BlenderNotConfigured, QueueFull, QuotaExceeded, StorageFull, InvalidRequest; NotFound of the source and the
   * game, NotCompleted of the source
   */
  async submit(ownerId: string, request: NewJob, further: Further = { purpose: 'job' }): Promise<Job> {
    const fields = await this.check(ownerId, request)
    await this.#mustHaveWorker()
    await assertRoom(this.#parts.storage)
    const { clock, queue } = this.#parts
    const id = newId('job', clock.now())
    const { purpose, generationId, with: also } = further
    await queue.submit({ ...fields, id, ownerId, purpose, ...(generationId ? { generationId } : {}) }, async (em) => {
      if (purpose === 'job') await this.note(em, { id, ...fields }, 'job.create')
      await also?.(em, id)
    })
    const job = await this.#mustRead(ownerId, id)
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
      throw new InvalidRequest(`There is no starter ${unknown}; there are ${idsOf(this.library.list())}.`)
    const source = sourceJobId === null ? null : await this.#mustRead(ownerId, sourceJobId)
    const parameters = this.#parametersOf(template, source, request.parameters ?? {})
    const gameId = await this.access.gameFor(ownerId, request.gameId, source)
    const shown = { name: visibleText(name), action, template, parameters, starterAssets, faceLimit }
    return { ...shown, sourceJobId, script, gameId }
  }

  /** Adds a job to the activity of its game, in the transaction that changes it. */
  async note(
    em: SqlEntityManager,
    { id, name, gameId }: Pick<JobRow, 'id' | 'name' | 'gameId'>,
    action: 'job.create' | 'job.cancel',
  ): Promise<void> {
    if (gameId) await recordActivity(em, this.#parts.clock, { gameId, action, target: id, detail: name })
  }

  /** Queues another job on a completed job's scene. @throws as `submit` */
  async act(playerId: string, sourceJobId: string, { action, script, parameters, name }: NewAction): Promise<Job> {
    const source = await this.#mustRead(playerId, sourceJobId)
    return this.submit(playerId, {
      name: name ?? source.name,
      action,
      sourceJobId,
      faceLimit: source.faceLimit,
      ...(script === undefined ? {} : { script }),
      ...(parameters === undefined ? {} : { parameters }),
    })
  }

  /** Returns a job of the player, or of a game that the player makes; a failed one with the end of its log. @throws NotFound */
  async get(playerId: string, id: string): Promise<Job> {
    const row = await this.#mustRead(playerId, id)
    const job = await this.#toJob(row)
    return row.status === 'failed' ? { ...job, log: await this.log(playerId, id, SHOWN_LOG_LINES) } : job
  }

  /**
   * Returns the output of a job's run, which is stored when the run ends. At most its last 65,536 characters are kept.
   *
   * @param tail the number of last lines; all by default
   * @throws NotFound
   */
  async log(playerId: string, id: string, tail = Number.POSITIVE_INFINITY): Promise<string> {
    const { log } = await this.text(playerId, id)
    // Each line ends with a line break, after which `split` finds one more, empty line.
    return log
      .split('\n')
      .slice(-tail - 1)
      .join('\n')
  }

  /** Returns the script of a job and the output of its run, which its record omits. @throws NotFound */
  async text(playerId: string, id: string): Promise<{ script: string | null; log: string }> {
    await this.#mustRead(playerId, id)
    const text = await this.#parts.db.em().findOne(JobText, { jobId: id })
    return { script: text?.script ?? null, log: text?.log ?? '' }
  }

  /** Lists the player's jobs, or those of a game that the player makes, newest first. @throws NotFound of the game */
  async list(
    playerId: string,
    { limit, cursor, status, action, gameId }: JobQuery,
  ): Promise<{ jobs: Job[]; nextCursor: string | null }> {
    const before = mustBeCursor('job', cursor)
    const game = gameId === undefined ? null : await this.#parts.games.mustMake(playerId, gameId)
    const rows = await this.#parts.db.em().find(
      JobRow,
      {
        ...(game ? { gameId: game.id } : { ownerId: playerId }),
        purpose: { $ne: 'thumbnail' },
        ...(status ? { status } : {}),
        ...(action ? { action } : {}),
        ...(before ? { id: { $lt: before } } : {}),
      },
      { orderBy: { id: 'desc' }, limit: limit + 1 },
    )
    const { page, nextCursor } = cutPage(rows, limit)
    const waiting = new Set(page.filter((row) => row.status === 'queued').map((row) => row.ownerId))
    const places = waiting.size > 0 ? await this.#parts.queue.positions([...waiting]) : new Map<string, number>()
    return { jobs: page.map((row) => toJob(row, places.get(row.id) ?? null)), nextCursor }
  }

  /** Cancels a job. @throws NotFound, NotCancellable when it has ended */
  async cancel(playerId: string, id: string): Promise<Job> {
    await this.access.mustChange(playerId, await this.#find(id), 'job')
    const cancelled = await this.#parts.queue.cancel(id, (em, job) => this.note(em, job, 'job.cancel'))
    const job = await this.#mustRead(playerId, id)
    if (cancelled) await this.changed(job)
    // A repeated cancellation is not an error.
    else if (job.status !== 'cancelled') throw new NotCancellable(`it has ${job.status}`)
    return this.#toJob(job)
  }

  /** Opens a file of a job. @throws NotFound when there is none, or the player may not read the job */
  async openArtifact(
    playerId: string,
    id: string,
    name: string,
  ): Promise<{ artifact: Artifact; read(range?: Range): Promise<Readable> }> {
    const job = await this.#mustRead(playerId, id)
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

  /** Returns the inspection of a job; null when there is none. @throws NotFound when the player may not read the job */
  async inspection(playerId: string, id: string): Promise<Inspection | null> {
    const job = await this.#mustRead(playerId, id)
    if (!job.artifacts.some(({ name }) => name === 'inspection.json')) return null
    const { read } = await this.openArtifact(playerId, id, 'inspection.json')
    return (await json(await read())) as Inspection
  }

  /**
   * Streams the job as server-sent events (`event: job`, its record as data), until it ends or the session must be
   * checked again.
   */
  stream(playerId: string, id: string): Stream {
    const look = async () => {
      const job = await this.get(playerId, id)
      return { event: 'job', data: job, over: job.status !== 'queued' && job.status !== 'running' }
    }
    return { key: id, shows: `job for ${playerId}`, look, longestMs: SESSION_MS }
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

  #parametersOf(
    templateId: string | null,
    source: JobRow | null,
    given: Record<string, unknown>,
  ): Record<string, unknown> {
    assertSize(given)
    if (source) {
      if (source.status !== 'completed' || !source.artifacts.some(({ name }) => name === 'scene.blend'))
        throw new NotCompleted()
      return { ...source.parameters, ...given }
    }
    if (!templateId) return given
    const template = this.templates.find(templateId)
    if (!template)
      throw new InvalidRequest(`There is no template ${templateId}; there are ${idsOf(this.templates.list())}.`)
    return this.templates.complete(template, given)
  }

  async #find(id: string): Promise<JobRow | null> {
    return isId('job', id) ? this.#parts.db.em().findOne(JobRow, { id }) : null
  }

  async #mustRead(playerId: string, id: string): Promise<JobRow> {
    return this.access.mustRead(playerId, await this.#find(id), 'job')
  }

  async #toJob(row: JobRow): Promise<Job> {
    const places = row.status === 'queued' ? await this.#parts.queue.positions([row.ownerId]) : null
    return toJob(row, places?.get(row.id) ?? null)
  }
}

function toJob(row: JobRow, queuePosition: number | null): Job {
  const { queuedAt, startedAt, finishedAt } = row
  return {
    id: row.id,
    ownerId: row.ownerId,
    gameId: row.gameId ?? null,
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

const idsOf = (things: readonly { id: string }[]): string => things.map(({ id }) => id).join(', ') || 'none'
