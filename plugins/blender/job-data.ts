import type { FastifyInstance } from 'fastify'
import { GenerationRow, JobRow } from './entities.ts'
import { exportGeneratedAssets, exportJobs } from './export-jobs.ts'
import { REMOVE_FILES, Retention, SWEEP } from './jobs/retention.ts'
import { STORED_KIND, storedJobs } from './jobs/stored-bytes.ts'

/**
 * Has jobs counted in the quotas and exported, and removed after some days, on demand of their owner, and with the account
 * or the game to which they belong.
 */
export function registerJobData(app: FastifyInstance, keepDays: number): void {
  const retention = new Retention(app, keepDays)
  app.jobs.handle<{ jobIds: string[] }>(REMOVE_FILES, ({ payload, signal }) =>
    retention.removeFiles(payload.jobIds, signal),
  )
  app.quotas.kinds.set(
    STORED_KIND,
    storedJobs(app, (ownerId, id) => retention.remove(ownerId, id)),
  )
  app.jobs.every(SWEEP, 24 * 3600, ({ signal }) => retention.sweep(signal))
  app.identity.deletion.exporters.set('blenderJobs', (ownerId) => exportJobs(app, ownerId))
  app.identity.deletion.exporters.set('generatedAssets', (ownerId) => exportGeneratedAssets(app, ownerId))
  app.identity.deletion.cleanups.push(async (em, ownerId) => {
    await retention.clearOwner(em, ownerId)
    await em.nativeDelete(GenerationRow, { ownerId })
  })
  app.games.deletion.cleanups.push(async (em, gameId) => {
    await em.nativeUpdate(JobRow, { gameId }, { gameId: null })
    await em.nativeUpdate(GenerationRow, { gameId }, { gameId: null })
  })
}
