import type { FastifyInstance } from 'fastify'
import type { Allowances } from './allowances.ts'

/** Adds the allowances to the data of a player, and deletes them with player and game, and their uses after a day. */
export function contributeAllowances(app: FastifyInstance, allowances: Allowances): void {
  const { deletion } = app.identity
  deletion.exporters.set('aiAllowances', (playerId) => allowances.list(playerId))
  deletion.cleanups.push((em, playerId) => allowances.forgetPlayer(em, playerId))
  // On PostgreSQL a consent may have begun before the account was deleted, and have committed after it.
  app.events.on('player.deleted', ({ playerId }) => app.db.transaction((em) => allowances.forgetPlayer(em, playerId)))
  app.games.deletion.cleanups.push((em, gameId) => allowances.forgetGame(em, gameId))
  app.jobs.every('ai/allowances', 3600, ({ signal }) => allowances.sweep(signal))
}
