import type { FastifyInstance } from 'fastify'
import { FORGET } from './changes.ts'
import { PREPARE } from './preparation.ts'

/** The scheduled tasks of assets. */
export function registerScheduledTasks(app: FastifyInstance): void {
  const { changes, clips, preparation } = app.assets
  const { deletion } = app.identity
  deletion.exporters.set('assets', (playerId) => app.assets.library.export(playerId))
  deletion.losses.push((playerId) => app.assets.library.lossOf(playerId))
  deletion.cleanups.push((em, playerId) => changes.removeAllOf(em, playerId))
  app.jobs.handle<{ assetIds: string[] }>(FORGET, ({ payload, signal }) => changes.forget(payload.assetIds, signal))
  app.jobs.handle<{ assetId: string }>(PREPARE, ({ payload, signal }) => preparation.run(payload.assetId, signal), {
    maxAttempts: 3,
  })
  app.jobs.every('assets/sweep', 24 * 3600, async ({ signal }) => {
    await clips.sweep(signal)
    await changes.sweep(signal)
  })
  app.jobs.every('assets/renew', 3600, () => preparation.renew())
}
