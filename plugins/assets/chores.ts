import type { FastifyInstance } from 'fastify'

/** What assets do by themselves. */
export function registerChores(app: FastifyInstance): void {
  const { changes, preparation } = app.assets
  app.events.on('player.deleted', ({ playerId }) => changes.removeAll(playerId))
  app.jobs.handle<{ assetId: string }>(
    'assets/prepare',
    ({ payload, signal }) => preparation.run(payload.assetId, signal),
    {
      maxAttempts: 3,
    },
  )
  app.jobs.every('assets/sweep', 24 * 3600, ({ signal }) => changes.sweep(signal))
}
