import { definePlugin } from '../../core/plugin.ts'
import type {} from '../../drivers/blender/interface.ts'
import type {} from '../../drivers/storage/interface.ts'
import type {} from '../ai/index.ts'
import type {} from '../assets/index.ts'
import type {} from '../games/index.ts'
import { GenerationRow, JobRow, JobText, Turn, WorkerRow } from './entities.ts'
import { ADVANCE, ATTEMPTS, type GeneratedAssets } from './generations/generations.ts'
import { registerJobData } from './job-data.ts'
import type { BlenderJobs } from './jobs/jobs.ts'
import { migration } from './migrations/2026_11_21_blender_jobs.ts'
import { gameOfJobMigration } from './migrations/2026_11_28_game_of_job.ts'
import { gamePages, jobsOf } from './pages/game-jobs.ts'
import { pages } from './pages/routes.ts'
import { routes } from './routes.ts'
import { BlenderLimits } from './schemas.ts'
import { createServices } from './services.ts'
import { LEASES } from './worker/worker.ts'

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
    const { worker, blender, generated } = await createServices(app, limits)
    app.decorate('blender', blender)
    app.decorate('generatedAssets', generated)
    app.jobs.handle<{ id: string }>(ADVANCE, ({ payload, ...context }) => generated.advance(payload.id, context), {
      maxAttempts: ATTEMPTS,
    })
    app.jobs.every(LEASES, 10, () => worker.recover())
    registerJobData(app, limits.blenderKeepDays)
    app.games.dashboard.tabs.push({ label: 'Blender', order: 27, href: jobsOf })
    app.site.navigation.push({ label: 'Blender', href: '/blender', place: 'make', order: 40, key: 'b' })
    await app.register(routes)
    await app.register(pages)
    await app.register(gamePages)
    app.addHook('onReady', async () => {
      await app.blenderDriver.sweep()
      worker.start()
    })
    app.addHook('preClose', () => worker.stop())
  },
)
