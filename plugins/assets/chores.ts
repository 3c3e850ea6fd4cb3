import type { FastifyInstance } from 'fastify'
import { FORGET } from './changes.ts'

/** What assets do by themselves. */
export function registerChores(app: FastifyInstance): void {
  const { changes, preparation } = app.assets
  const { removal } = app.identity
  removal.parts.set('assets', (playerId) => app.assets.library.export(playerId))
  removal.clearings.push((em, playerId) => changes.removeAllOf(em, playerId))
  app.jobs.handle<{ assetIds: string[] }>(FORGET, ({ payload, signal }) => changes.forget(payload.assetIds, signal))
  app.jobs.handle<{ assetId: string }>(
    'assets/prepare',
    ({ payload, signal }) => preparation.run(payload.assetId, signal),
    {
      maxAttempts: 3,
    },
  )
  app.jobs.every('assets/sweep', 24 * 3600, ({ signal }) => changes.sweep(signal))
}
