import { definePlugin } from '../../core/plugin.ts'
import type {} from '../../drivers/blender/interface.ts'
import type {} from '../../drivers/storage/interface.ts'
import { JobRow, JobText, Turn, WorkerRow } from './entities.ts'
import { BlenderJobs } from './jobs.ts'
import { Library } from './library.ts'
import { migration } from './migrations/2026_11_21_blender_jobs.ts'
import { Queue } from './queue.ts'
import { routes } from './routes.ts'
import { BlenderLimits } from './schemas.ts'
import { Templates } from './templates.ts'
import { scratchFolder, Worker } from './worker.ts'

declare module 'fastify' {
  interface FastifyInstance {
    blender: BlenderJobs
  }
}

/** Blender jobs: other people's scripts on a real Blender, contained, in a durable and fair queue. */
export default definePlugin(
  {
    name: 'blender',
    dependencies: ['tokens'],
    limits: BlenderLimits,
    entities: [JobRow, JobText, Turn, WorkerRow],
    migrations: [migration],
  },
  async (app, _config, limits) => {
    const { db, clock, events, log, storage, blenderDriver: executor } = app
    const queue = new Queue(app, {
      queuedPerOwner: limits.blenderQueuedPerOwner,
      runningPerOwner: limits.blenderRunningPerOwner,
      leaseSeconds: limits.blenderLeaseSeconds,
    })
    const folder = await scratchFolder(app.config.dataDir)
    const parts = { db, clock, events, log, storage, queue, limits }
    const worker = new Worker({ ...parts, executor, folder, changed: (job) => app.blender.changed(job) })
    const blender = new BlenderJobs({
      ...{
        ...parts,
        worker,
        executorName: executor.name,
        templates: new Templates(),
        library: new Library(app.origins.studio),
      },
    })
    app.decorate('blender', blender)
    await app.register(routes)
    app.addHook('onReady', async () => {
      await executor.sweep()
      worker.start()
    })
    app.addHook('preClose', () => worker.stop())
  },
)
