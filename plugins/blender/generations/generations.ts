import { createWriteStream } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import { InvalidRequest, isPlatformError, NotFound } from '../../../core/errors.ts'
import { isId, newId } from '../../../core/ids.ts'
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

type Parts = Pick<FastifyInstance, 'db' | 'clock' | 'jobs' | 'log' | 'assets' | 'ai'> & {
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
   * @throws UnsupportedProvider, AiNotConfigured for a prompt without a model, and as `BlenderJobs.submit`
   */
  async start(ownerId: string, request: NewGeneration): Promise<Generation> {
    const { provider, name, template, starters = [], parameters = {}, script, prompt, visibility = 'private' } = request
    if (provider !== 'blender') throw new UnsupportedProvider(provider)
    const { db, clock, blender, ai, jobs } = this.#parts
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
    }
    const row = {
      ...{ id: newId('gen', clock.now()), ownerId, name: name.trim(), parameters, starters, visibility },
      ...{ template: template ?? null, prompt: prompt ?? null, round: 0, jobId: null, assetId: null },
      ...{ status: 'writing' as const, errorCode: null, errorMessage: null, createdAt: clock.now() },
    }
    if (prompt !== undefined) {
      await db.transaction(async (em) => {
        await em.insert(GenerationRow, row)
        await jobs.enqueue(em, { name: ADVANCE, key: row.id, payload: { id: row.id } })
      })
    } else {
      const job = {
        name,
        parameters,
        starterAssets: starters,
        ...(template ? { template } : {}),
        ...(script === undefined ? {} : { script }),
      }
      await blender.submit(ownerId, job, {
        purpose: 'generation',
        generationId: row.id,
        with: (em, jobId) => em.insert(GenerationRow, { ...row, jobId, status: 'queued' }),
      })
    }
    return this.get(ownerId, row.id)
  }

  /** Returns a generation. @throws NotFound when it is not the player's */
  async get(ownerId: string, id: string): Promise<Generation> {
    const em = this.#parts.db.em()
    const row = isId('gen', id) ? await em.findOne(GenerationRow, { id, ownerId }) : null
    if (!row) throw new NotFound('generation')
    const job = row.jobId && row.status === 'queued' ? await em.findOne(JobRow, { id: row.jobId }) : null
    return {
      id: row.id,
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
  async ended(em: SqlEntityManager, { generationId }: JobRow): Promise<void> {
    if (!generationId) return
    await this.#parts.jobs.enqueue(em, { name: ADVANCE, key: generationId, payload: { id: generationId } })
  }

  /** Runs the next step of a generation. It can be repeated. */
  async advance(id: string, signal: AbortSignal): Promise<void> {
    const em = this.#parts.db.em()
    const row = await em.findOne(GenerationRow, { id })
    if (!row || ['completed', 'failed', 'cancelled'].includes(row.status)) return
    const job = row.jobId ? await em.findOne(JobRow, { id: row.jobId }) : null
    if (row.status === 'writing') return this.#write(row, job, signal)
    if (!job || job.status === 'queued' || job.status === 'running') return
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
    const { blender, ai } = this.#parts
    const template = row.template ? blender.templates.find(row.template) : null
    try {
      const before = failed ? await blender.text(row.ownerId, failed.id) : null
      const prompt = before
        ? repairPrompt({
            prompt: row.prompt ?? '',
            script: before.script ?? '',
            log: before.log,
            error: failed?.errorMessage ?? '',
          })
        : (row.prompt ?? '')
      const { result } = await ai.generate(
        { playerId: row.ownerId },
        { type: 'text', prompt, system: instructions(template, row.parameters), maxOutputTokens: MAX_OUTPUT_TOKENS },
        signal,
      )
      const { name, parameters, starters } = row
      const job = { name, parameters, starterAssets: starters, script: scriptIn(String(result)) }
      await blender.submit(row.ownerId, row.template ? { ...job, template: row.template } : job, {
        purpose: 'generation',
        generationId: row.id,
        with: (em, jobId) =>
          em.nativeUpdate(GenerationRow, { id: row.id }, { jobId, status: 'queued', round: row.round + 1 }),
      })
    } catch (error) {
      if (signal.aborted || !isPlatformError(error)) throw error
      await this.#change(row, { status: 'failed', errorCode: error.code, errorMessage: error.message })
    }
  }

  /** Creates the asset with the job's picture. The asset is created once, even if this is repeated. */
  async #keep(row: GenerationRow, job: JobRow): Promise<void> {
    const { assets, storage, folder, db } = this.#parts
    const named = (name: string) => job.artifacts.find((artifact) => artifact.name === name)
    const [model, preview] = [named('model.glb'), named('preview.png')]
    if (!model)
      return this.#change(row, { status: 'failed', errorCode: 'invalid_artifact', errorMessage: 'There is no model.' })
    await mkdir(folder, { recursive: true })
    const scratch = await mkdtemp(join(folder, 'asset-'))
    try {
      const path = join(scratch, 'model.glb')
      await pipeline(await storage.get(artifactKey(job.id, model)), createWriteStream(path))
      const made = await assets.create(
        row.ownerId,
        { title: row.name, kind: 'model', visibility: row.visibility, source: { kind: 'generation', jobId: job.id } },
        { path, name: `${row.name}.glb` },
      )
      if (preview) await assets.setThumbnail(made.id, await buffer(await storage.get(artifactKey(job.id, preview))))
      await db.transaction(async (em) => {
        await em.nativeUpdate(JobRow, { id: job.id }, { assetId: made.id })
        await em.nativeUpdate(GenerationRow, { id: row.id }, { status: 'completed', assetId: made.id })
      })
    } catch (error) {
      if (!isPlatformError(error) || error.statusCode >= 500) throw error
      await this.#change(row, { status: 'failed', errorCode: error.code, errorMessage: error.message })
    } finally {
      await rm(scratch, { recursive: true, force: true })
    }
  }

  async #change(
    { id }: GenerationRow,
    change: { status: GenerationStatus; errorCode?: string | null; errorMessage?: string | null },
  ) {
    await this.#parts.db.em().nativeUpdate(GenerationRow, { id }, change)
  }
}
