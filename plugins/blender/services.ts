import type { FastifyInstance } from 'fastify'
import { Library } from './catalog/starters.ts'
import { Templates } from './catalog/templates.ts'
import { GeneratedAssets } from './generations/generations.ts'
import { BlenderJobs } from './jobs/jobs.ts'
import { Queue } from './jobs/queue.ts'
import { noteBlender } from './note.ts'
import type { BlenderLimits } from './schemas.ts'
import { Thumbnails } from './thumbnails.ts'
import { scratchFolder, Worker } from './worker/worker.ts'

/** Connects the queue, the worker, the jobs and the generated assets with each other and with the platform. */
export async function createServices(
  app: FastifyInstance,
  limits: BlenderLimits,
): Promise<{ worker: Worker; blender: BlenderJobs; generated: GeneratedAssets }> {
  const { db, clock, events, games, log, storage, blenderDriver: executor } = app
  const queue = new Queue(app, {
    queuedPerOwner: limits.blenderQueuedPerOwner,
    runningPerOwner: limits.blenderRunningPerOwner,
    leaseSeconds: limits.blenderLeaseSeconds,
  })
  const folder = await scratchFolder(app.config.dataDir)
  const parts = { db, clock, events, log, storage, queue, limits }
  const worker = new Worker({
    ...parts,
    images: app.images,
    executor,
    folder,
    changed: (job) => blender.changed(job),
    found: (availability) => noteBlender(app, availability),
  })
  events.on('blender.job', ({ jobId }) => app.eventStreams.wake(jobId))
  const blender = new BlenderJobs({
    ...parts,
    games,
    worker,
    executorName: executor.name,
    templates: new Templates(),
    library: new Library(app.origins.studio),
  })
  const generated = new GeneratedAssets({
    db,
    clock,
    log,
    storage,
    blender,
    folder,
    jobs: app.jobs,
    assets: app.assets,
    ai: app.ai,
    answerOnce: app.answerOnce,
  })
  queue.onEnd = (em, job) => generated.ended(em, job)
  new Thumbnails(app, { executor, worker, folder }).start()
  return { worker, blender, generated }
}
