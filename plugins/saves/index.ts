import { definePlugin } from '../../core/plugin.ts'
import { contributeToDashboard } from './dashboard.ts'
import { SaveBlob, SaveRow, SaveTotal, SaveUsage, SaveVersion } from './entities.ts'
import { migrations } from './migrations.ts'
import { OwnerQuota, STORED_KIND, storedSaves } from './owner-quota.ts'
import { pages } from './pages/routes.ts'
import { exportSaves } from './player-saves.ts'
import { PURGE, Removal } from './removal.ts'
import { Retention } from './retention.ts'
import { apiRoutes } from './routes/api.ts'
import { gameRoutes } from './routes/on-game.ts'
import { Saves } from './saves.ts'
import { SaveLimits } from './schemas.ts'
import { GarbageCollector } from './values/garbage-collector.ts'

declare module 'fastify' {
  interface FastifyInstance {
    saves: Saves
  }
}

/** Saves: documents that a game keeps for each of its players. */
export default definePlugin(
  {
    name: 'saves',
    dependencies: ['oauth-idp', 'quotas', 'games', 'game-edge'],
    limits: SaveLimits,
    entities: [SaveUsage, SaveTotal, SaveRow, SaveVersion, SaveBlob],
    migrations,
  },
  async (app, _config, limits) => {
    const quota = new OwnerQuota(app)
    const saves = new Saves(app, limits, quota)
    const removal = new Removal(app)
    app.decorate('saves', saves)
    app.jobs.every('saves/count', 60, ({ signal }) => quota.count(signal))
    app.jobs.every('saves/forget', 3600, ({ signal }) => new Retention(app).sweep(signal))
    app.jobs.every('saves/collect', 3600, ({ signal }) => new GarbageCollector(app).run(signal))
    app.jobs.handle<{ gameId: string }>(PURGE, ({ payload, signal }) => removal.purge(payload.gameId, signal))
    app.quotas.kinds.set(STORED_KIND, storedSaves(app))
    contributeToDashboard(app)
    app.games.deletion.cleanups.push((em, gameId) => removal.ofGame(em, gameId))
    app.identity.deletion.losses.push((playerId) => removal.lossOf(playerId))
    app.identity.deletion.cleanups.push((em, playerId) => removal.ofPlayer(em, playerId))
    // On PostgreSQL a change may have begun before the account was deleted, and have committed after it.
    app.events.on('player.deleted', ({ playerId }) => app.db.transaction((em) => removal.ofPlayer(em, playerId)))
    app.identity.deletion.exporters.set('saves', (playerId) => exportSaves(app, playerId))
    await app.register(gameRoutes(limits))
    await app.register(apiRoutes(limits))
    await app.register(pages)
  },
)
