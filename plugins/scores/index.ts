import { definePlugin } from '../../core/plugin.ts'
import { contributeToGames } from './dashboard.ts'
import {
  ScoreBoard,
  ScoreDay,
  ScoreDeletion,
  ScoreEntry,
  ScoreExclusion,
  ScoreNode,
  ScoreSubmission,
} from './entities.ts'
import { gameRoutes } from './game-routes.ts'
import { migrations } from './migrations.ts'
import { ownerPages } from './pages/owner.ts'
import { publicPages } from './pages/public.ts'
import { sweepScores } from './retention.ts'
import { routes } from './routes.ts'
import { Scores } from './scores.ts'

export { boardsOfGames } from './pages/public.ts'

declare module 'fastify' {
  interface FastifyInstance {
    scores: Scores
  }
}

/** Leaderboards of games, with exact ranks. */
export default definePlugin(
  {
    name: 'scores',
    dependencies: ['oauth-idp', 'games', 'game-edge'],
    entities: [ScoreBoard, ScoreEntry, ScoreNode, ScoreDay, ScoreExclusion, ScoreDeletion, ScoreSubmission],
    migrations,
  },
  async (app) => {
    app.decorate('scores', new Scores(app))
    const { boards, lists, moderation } = app.scores
    const { deletion, administration } = app.identity
    app.games.deletion.cleanups.push((em, gameId) => boards.removeAllOf(em, gameId))
    deletion.exporters.set('scores', (playerId) => lists.export(playerId))
    deletion.losses.push((playerId) => moderation.lossOf(playerId))
    deletion.cleanups.push((em, playerId) => moderation.removeAllOf(em, playerId))
    app.events.on('player.deleted', ({ playerId }) => moderation.removeLeftOver(playerId))
    administration.onDisabling(async (em, playerId, disabled) => {
      await moderation.setHidden(em, playerId, disabled)
      return async () => {}
    })
    contributeToGames(app)
    app.jobs.every('scores/sweep', 3600, ({ signal }) => sweepScores(app.db, app.clock.now(), signal))
    await app.register(routes)
    await app.register(gameRoutes)
    await app.register(publicPages)
    await app.register(ownerPages)
  },
)
