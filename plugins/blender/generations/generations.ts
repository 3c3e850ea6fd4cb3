import { createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import { makeFolder } from '../../../core/data/folders/make-folder.ts'
import { Conflict, InvalidRequest, isPlatformError, type PlatformError } from '../../../core/errors.ts'
import { isId, newId } from '../../../core/ids.ts'
import { visibleText } from '../../../core/visible-text.ts'
import type { Storage } from '../../../drivers/storage/interface.ts'
import { AiNotConfigured } from '../../ai/index.ts'
import { GenerationRow, JobRow } from '../entities.ts'
import { UnsupportedProvider } from '../errors.ts'
import { artifactKey } from '../jobs/artifacts.ts'
import type { BlenderJobs } from '../jobs/jobs.ts'
import type { Generation, GenerationStatus, NewGeneration } from '../schemas.ts'
import { instructions, repairPrompt, scriptIn } from './prompts.ts'

/** The background job that runs the next step of a generation. */
export const ADVANCE = 'blender/generation'
/** The attempts of each step. A step that fails in the last one ends the generation. */
export const ATTEMPTS = 5
/** The first script, and two repairs. */
const ROUNDS = 3
const MAX_OUTPUT_TOKENS = 8192
/** Failures that a model can correct with another script. */
const REPAIRABLE = new Set([
  'script_error',
  'empty_scene',
  'face_limit',
  'timeout',
  'limit_exceeded',
  'invalid_artifact',
])

type Parts = Pick<FastifyInstance, 'db' | 'clock' | 'jobs' | 'log' | 'assets' | 'ai' | 'answerOnce'> & {
  storage: Storage
  blender: BlenderJobs
  /** A folder for files that become assets. */
  folder: string
}

/**
 * Assets generated with Blender: a request becomes a job, and the job's model becomes an asset. With a prompt, a
 * language model writes the job's script from the template's guidance, and receives the error when the script fails.
 *
 * Each step ends by recording the progress in a row, and runs in a background job: when a process dies, another one
 * continues.
 */
export class GeneratedAssets {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /**
   * Starts a generation.
   *
   * @param request.gameId the id or slug of a game that the player makes, to which its jobs and its asset belong
   * @throws NotFound of the game; UnsupportedProvider, AiNotConfigured for a prompt without a model, and as `BlenderJobs.submit`
   */
  async start(ownerId: string, request: NewGeneration): Promise<Generation> {
    const { provider, name, template, starters = [], parameters = {}, script, prompt, visibility = 'private' } = request
    if (provider !== 'blender') throw new UnsupportedProvider(provider)
    const { db, clock, blender, ai, jobs } = this.#parts
    const gameId = await blender.access.gameFor(ownerId, request.gameId, null)
    const game = gameId === null ? {} : { gameId }
    if (prompt !== undefined) {
      if (script !== undefined) throw new InvalidRequest('Send a prompt or a script, not both.')
      if (!ai.configured('text')) throw new AiNotConfigured('text')
      // The checks come first, because the script costs credits.
      await blender.assertComplete()
      await blender.check(ownerId, {
        name,
        parameters,
        starterAssets: starters,
        ...(template ? { template } : { script: 'pass' }),
      })
      await blender.assertAdmissible(ownerId)
    }
    const row = {
      id: newId('gen', clock.now()),
      ownerId,
      name: visibleText(name),
      parameters,
      starters,
      visibility,
      gameId,
      template: template ?? null,
      prompt: prompt ?? null,
      round: 0,
      jobId: null,
      assetId: null,
      status: 'writing' as const,
      errorCode: null,
      errorMessage: null,
      createdAt: clock.now(),
    }
    if (prompt !== undefined) {
      await db.transaction(async (em) => {
        await em.insert(GenerationRow, row)
        await blender.note(em, row, 'job.create')
        await jobs.enqueue(em, { name: ADVANCE, key: row.id, owner: ownerId, payload: { id: row.id } })
      })
    } else {
      const job = {
        name,
        parameters,
        starterAssets: starters,
        ...(template ? { template } : {}),
        ...(script === undefined ? {} : { script }),
        ...game,
      }
      await blender.submit(ownerId, job, {
        purpose: 'generation',
        generationId: row.id,
        async with(em, jobId) {
          await em.insert(GenerationRow, { ...row, jobId, status: 'queued' })
          await blender.note(em, { ...row, id: jobId }, 'job.create')
        },
      })
    }
    return this.get(ownerId, row.id)
  }

  /** Returns a generation of the player, or of a game that the player makes. @throws NotFound */
  async get(playerId: string, id: string): Promise<Generation> {
    const { db, blender } = this.#parts
    const em = db.em()
    const found = isId('gen', id) ? await em.findOne(GenerationRow, { id }) : null
    const row = await blender.access.mustRead(playerId, found, 'generation')
    const job = row.jobId && row.status === 'queued' ? await em.findOne(JobRow, { id: row.jobId }) : null
    return {
      id: row.id,
      ownerId: row.ownerId,
      gameId: row.gameId ?? null,
      // The asset is still being created after the job has ended.
      status: job && job.status !== 'queued' ? 'running' : row.status,
      name: row.name,
      jobId: row.jobId ?? null,
      assetId: row.assetId ?? null,
      rounds: row.round,
      error: row.errorCode ? { code: row.errorCode, message: row.errorMessage ?? '' } : null,
      createdAt: row.createdAt.toISOString(),
    }
  }

  /** Handles the end of a job, in its transaction. */
  async ended(em: SqlEntityManager, { generationId, ownerId }: JobRow): Promise<void> {
    if (!generationId) return
    const about = { name: ADVANCE, key: generationId, owner: ownerId }
    await this.#parts.jobs.enqueue(em, { ...about, payload: { id: generationId } })
  }

  /** Runs the next step of a generation. It can be repeated. @param attempt 1 on the first attempt of the step */
  async advance(id: string, { attempt, signal }: { attempt: number; signal: AbortSignal }): Promise<void> {
    const row = await this.#parts.db.em().findOne(GenerationRow, { id })
    if (!row || ['completed', 'failed', 'cancelled'].includes(row.status)) return
    try {
      await this.#step(row, signal)
    } catch (error) {
      // Nothing would continue the generation, and its owner would wait for ever.
      if (attempt >= ATTEMPTS && !signal.aborted)
        await this.#fail(
          row,
          isPlatformError(error) ? error : { code: 'internal', message: 'The server made a mistake.' },
        )
      throw error
    }
  }

  async #step(row: GenerationRow, signal: AbortSignal): Promise<void> {
    const job = row.jobId ? await this.#parts.db.em().findOne(JobRow, { id: row.jobId }) : null
    if (row.status === 'writing') return this.#write(row, job, signal)
    if (!job) return this.#fail(row, { code: 'not_found', message: 'The job was removed before its result was kept.' })
    if (job.status === 'queued' || job.status === 'running') return
    if (job.status === 'completed') return this.#keep(row, job)
    const { prompt, round } = row
    if (job.status === 'failed' && prompt && round < ROUNDS && REPAIRABLE.has(job.errorCode ?? '')) {
      await this.#change(row, { status: 'writing' })
      return this.#write({ ...row, status: 'writing' }, job, signal)
    }
    const status = job.status === 'cancelled' ? 'cancelled' : 'failed'
    await this.#change(row, { status, errorCode: job.errorCode ?? null, errorMessage: job.errorMessage ?? null })
  }

  /** Lets the model write the first script or a repair, and queues a job with it. */
  async #write(row: GenerationRow, failed: JobRow | null, signal: AbortSignal): Promise<void> {
    const { blender } = this.#parts
    try {
      // The checks come first, because the script costs credits.
      await blender.assertAdmissible(row.ownerId).catch(throwLater)
      const script = scriptIn(await this.#scriptFor(row, failed, signal))
      const { name, parameters, starters, round } = row
      const job = { name, parameters, starterAssets: starters, script, ...(await this.#gameOf(row)) }
      await blender
        .submit(row.ownerId, row.template ? { ...job, template: row.template } : job, {
          purpose: 'generation',
          generationId: row.id,
          async with(em, jobId) {
            const before = { id: row.id, status: 'writing' as const, round }
            const changed = await em.nativeUpdate(GenerationRow, before, { jobId, status: 'queued', round: round + 1 })
            if (changed === 0) throw new Conflict('Another process has queued the job of this generation.')
          },
        })
        .catch(throwLater)
    } catch (error) {
      if (error instanceof Later) throw error.cause
      if (signal.aborted || !isPlatformError(error)) throw error
      await this.#fail(row, error)
    }
  }

  /** Returns the model's answer. It is paid once, even if this is repeated. */
  async #scriptFor(row: GenerationRow, failed: JobRow | null, signal: AbortSignal): Promise<string> {
    const { blender, ai, answerOnce } = this.#parts
    const { id, ownerId: playerId, round, parameters } = row
    const template = row.template ? blender.templates.find(row.template) : null
    const before = failed ? await blender.text(playerId, failed.id) : null
    const prompt = before
      ? repairPrompt({
          prompt: row.prompt ?? '',
          script: before.script ?? '',
          log: before.log,
          error: failed?.errorMessage ?? '',
        })
      : (row.prompt ?? '')
    const { blenderVersion } = await blender.health()
    const system = instructions(template, { parameters, blenderVersion })
    const once = { playerId, use: ADVANCE, key: `${id}/${round}`, body: row.prompt }
    const answer = await answerOnce(once, async (remember) => {
      const { result } = await ai.generate(
        { playerId },
        { type: 'text', prompt, system, maxOutputTokens: MAX_OUTPUT_TOKENS },
        signal,
        (statements, generation) => remember(statements, () => JSON.stringify(generation.result)),
      )
      return JSON.stringify(result)
    }).catch((error) => {
      // The process that asks the model is slow or has just died.
      if (error instanceof Conflict) throw new Later(error)
      throw error
    })
    return String(JSON.parse(answer))
  }

  /** Creates the asset with the job's picture. The asset is created once, even if this is repeated. */
  async #keep(row: GenerationRow, job: JobRow): Promise<void> {
    const { assets, storage, folder, db } = this.#parts
    const named = (name: string) => job.artifacts.find((artifact) => artifact.name === name)
    const [model, preview] = [named('model.glb'), named('preview.png')]
    if (!model) return this.#fail(row, { code: 'invalid_artifact', message: 'There is no model.' })
    await makeFolder(folder)
    const scratch = await mkdtemp(join(folder, 'asset-'))
    try {
      const path = join(scratch, 'model.glb')
      await pipeline(await storage.get(artifactKey(job.id, model)), createWriteStream(path))
      const made = await assets.create(
        row.ownerId,
        {
          title: row.name,
          kind: 'model',
          visibility: row.visibility,
          source: { kind: 'generation', jobId: job.id },
          ...(await this.#gameOf(row)),
        },
        { path, name: `${row.name}.glb` },
      )
      if (preview) await assets.setThumbnail(made.id, await buffer(await storage.get(artifactKey(job.id, preview))))
      await db.transaction(async (em) => {
        await em.nativeUpdate(JobRow, { id: job.id }, { assetId: made.id })
        await em.nativeUpdate(GenerationRow, { id: row.id }, { status: 'completed', assetId: made.id })
      })
    } catch (error) {
      if (!isPlatformError(error) || error.statusCode >= 500) throw error
      await this.#fail(row, error)
    } finally {
      await rm(scratch, { recursive: true, force: true })
    }
  }

  /** Returns the game of a generation, unless its owner no longer makes it: the result is then the owner's alone. */
  async #gameOf(row: GenerationRow): Promise<{ gameId?: string }> {
    const gameId = await this.#parts.blender.access.gameFor(row.ownerId, undefined, row)
    return gameId === null ? {} : { gameId }
  }

  #fail(row: GenerationRow, { code, message }: Pick<PlatformError, 'code' | 'message'>): Promise<void> {
    return this.#change(row, { status: 'failed', errorCode: code, errorMessage: message })
  }

  /** Changes an open generation, unless another process has begun its next round. */
  async #change(
    { id, round }: GenerationRow,
    change: { status: GenerationStatus; errorCode?: string | null; errorMessage?: string | null },
  ): Promise<void> {
    const before = { id, round, status: { $in: ['writing', 'queued'] as GenerationStatus[] } }
    await this.#parts.db.em().nativeUpdate(GenerationRow, before, change)
  }
}

/** A failure that a later attempt of the step may not have; `cause` is the error. */
class Later extends Error {
  constructor(cause: unknown) {
    super('later', { cause })
  }
}

/** Marks the errors of a full queue, an absent worker and an outage. */
function throwLater(error: unknown): never {
  throw isPlatformError(error) && (error.statusCode === 409 || error.statusCode >= 500) ? new Later(error) : error
}
