import { createWriteStream } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { FastifyInstance } from 'fastify'
import { makeFolder } from '../../core/data/folders/make-folder.ts'
import { NotFound } from '../../core/errors.ts'
import { randomText } from '../../core/ids.ts'
import type { BlenderExecutor } from '../../drivers/blender/interface.ts'
import { refuse } from './jobs/artifacts.ts'
import { harnessFiles } from './worker/harness-files.ts'
import type { Worker } from './worker/worker.ts'

const RENDER = 'blender/thumbnail'
/** Larger models keep the thumbnail that the assets plugin draws. */
const LARGEST_BYTES = 64 * 1024 ** 2
const LIMITS = { timeoutSeconds: 60, artifactBytes: 4 * 1024 ** 2, logBytes: 1024 ** 2 }
const PICTURE = 'preview.png'

interface Parts {
  executor: BlenderExecutor
  worker: Pick<Worker, 'availability'>
  /** A scratch folder of this process for the temporary files of a run. */
  folder: string
}

/**
 * Replaces the drawn picture of uploaded models by a rendered one. It runs in the background, one model at a time on
 * each node that runs Blender, within that node's capacity. A render takes seconds, so it has no place in the queue of
 * jobs. A model that Blender can't read or render in time keeps its drawn picture.
 */
export class Thumbnails {
  readonly #app: FastifyInstance
  readonly #parts: Parts

  constructor(app: FastifyInstance, parts: Parts) {
    this.#app = app
    this.#parts = parts
  }

  /** Starts to render models that are uploaded from now on, on this node or by separate workers. */
  start(): void {
    const { events, jobs, db } = this.#app
    const { executor } = this.#parts
    if (executor.name === 'none') return
    if (executor.capacity > 0)
      jobs.handle<{ assetId: string }>(RENDER, ({ payload, signal }) => this.#render(payload.assetId, signal), {
        maxAttempts: 2,
        concurrency: 1,
      })
    // A node without a capacity enqueues for its workers, which may not share a bus. The key prevents duplicate jobs.
    events.on('asset.created', ({ assetId, ownerId }) =>
      db.transaction((em) => jobs.enqueue(em, { name: RENDER, key: assetId, owner: ownerId, payload: { assetId } })),
    )
  }

  async #render(assetId: string, signal: AbortSignal): Promise<void> {
    const { assets } = this.#app
    const { worker, folder } = this.#parts
    signal.throwIfAborted()
    const found = await worker.availability()
    if (!found.available || found.missing) return
    const scratch = await mkdtemp(join(await made(folder), 'thumbnail-'))
    try {
      const asset = await assets.get(assetId)
      const [model] = asset.files
      // Models made by Blender already have a picture.
      if (asset.kind !== 'model' || asset.source.kind !== 'upload' || !model || model.size > LARGEST_BYTES) return
      const file = join(scratch, 'model.glb')
      await pipeline((await assets.open(assetId, { variant: 'source' })).stream, createWriteStream(file))
      const output = await made(join(scratch, 'output'))
      if (await this.#run({ file, size: model.size, owner: asset.ownerId }, output, signal)) {
        await assets.setThumbnail(assetId, await readFile(join(output, PICTURE)))
      }
    } catch (error) {
      // The asset was deleted in the meantime.
      if (!(error instanceof NotFound)) throw error
    } finally {
      await rm(scratch, { recursive: true, force: true })
    }
  }

  /** @returns whether the picture exists now */
  async #run(
    { owner, ...model }: { file: string; size: number; owner: string },
    output: string,
    signal: AbortSignal,
  ): Promise<boolean> {
    let said = ''
    const end = await this.#parts.executor.run({
      id: `thumbnail-${randomText(12)}`,
      files: [...harnessFiles(), { path: 'model.glb', content: model }],
      main: 'harness/thumbnail.py',
      artifacts: [PICTURE],
      output,
      limits: LIMITS,
      signal,
      onLine: (line) => {
        said = line
      },
    })
    signal.throwIfAborted()
    const done = end.ending === 'exited' && end.code === 0 && end.artifacts.includes(PICTURE)
    if (done && (await refuse(output, PICTURE, { images: this.#app.images, owner })) === null) return true
    this.#app.log.info({ ending: end.ending, said }, 'Blender made no picture of a model; the drawn one stays')
    return false
  }
}

async function made(folder: string): Promise<string> {
  await makeFolder(folder)
  return folder
}
