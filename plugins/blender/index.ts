import { definePlugin } from '../../core/plugin.ts'
import type {} from '../../drivers/blender/interface.ts'
import type {} from '../../drivers/storage/interface.ts'
import type {} from '../ai/index.ts'
import type {} from '../assets/index.ts'
import type {} from '../games/index.ts'
import { Library } from './catalog/starters.ts'
import { Templates } from './catalog/templates.ts'
import { GenerationRow, JobRow, JobText, Turn, WorkerRow } from './entities.ts'
import { ADVANCE, ATTEMPTS, GeneratedAssets } from './generations/generations.ts'
import { BlenderJobs } from './jobs/jobs.ts'
import { Queue } from './jobs/queue.ts'
import { REMOVE_FILES, Retention, SWEEP } from './jobs/retention.ts'
import { STORED_KIND, storedJobs } from './jobs/stored-bytes.ts'
import { migration } from './migrations/2026_11_21_blender_jobs.ts'
import { gameOfJobMigration } from './migrations/2026_11_28_game_of_job.ts'
import { noteBlender } from './note.ts'
import { gamePages, jobsOf } from './pages/game-jobs.ts'
import { pages } from './pages/routes.ts'
import { routes } from './routes.ts'
import { BlenderLimits } from './schemas.ts'
import { Thumbnails } from './thumbnails.ts'
import { LEASES, scratchFolder, Worker } from './worker/worker.ts'

declare module 'fastify' {
  interface FastifyInstance {
    blender: BlenderJobs
    generatedAssets: GeneratedAssets
  }
}

/** Blender jobs: untrusted scripts run in a sandboxed Blender, in a durable and fair queue. */
export default definePlugin(
  {
    name: 'blender',
    dependencies: ['oauth-idp', 'tokens', 'quotas', 'games', 'assets', 'ai'],
    limits: BlenderLimits,
    entities: [GenerationRow, JobRow, JobText, Turn, WorkerRow],
    migrations: [migration, gameOfJobMigration],
  },
  async (app, _config, limits) => {
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
      changed: (job) => app.blender.changed(job),
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
    app.decorate('blender', blender)
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
    app.decorate('generatedAssets', generated)
    queue.onEnd = (em, job) => generated.ended(em, job)
    app.jobs.handle<{ id: string }>(ADVANCE, ({ payload, ...context }) => generated.advance(payload.id, context), {
      maxAttempts: ATTEMPTS,
    })
    new Thumbnails(app, { executor, worker, folder }).start()
    app.jobs.every(LEASES, 10, () => worker.recover())
    const retention = new Retention(app, limits.blenderKeepDays)
    app.jobs.handle<{ jobIds: string[] }>(REMOVE_FILES, ({ payload, signal }) =>
      retention.removeFiles(payload.jobIds, signal),
    )
    app.quotas.kinds.set(
      STORED_KIND,
      storedJobs(app, (ownerId, id) => retention.remove(ownerId, id)),
    )
    app.jobs.every(SWEEP, 24 * 3600, ({ signal }) => retention.sweep(signal))
    app.identity.deletion.cleanups.push(async (em, ownerId) => {
      await retention.clearOwner(em, ownerId)
      await em.nativeDelete(GenerationRow, { ownerId })
    })
    games.deletion.cleanups.push(async (em, gameId) => {
      await em.nativeUpdate(JobRow, { gameId }, { gameId: null })
      await em.nativeUpdate(GenerationRow, { gameId }, { gameId: null })
    })
    games.dashboard.tabs.push({ label: 'Blender', order: 27, href: jobsOf })
    app.site.navigation.push({ label: 'Blender', href: '/blender', place: 'make', order: 40, key: 'b' })
    await app.register(routes)
    await app.register(pages)
    await app.register(gamePages)
    app.addHook('onReady', async () => {
      await executor.sweep()
      worker.start()
    })
    app.addHook('preClose', () => worker.stop())
  },
)
