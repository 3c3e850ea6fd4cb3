import { definePlugin } from '../../core/plugin.ts'
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
import { migration as scores } from './migrations/2026_11_23_scores.ts'
import { migration as playerBoards } from './migrations/2026_11_26_player_boards.ts'
import { migration as submissions } from './migrations/2026_11_26_score_submissions.ts'
import { ownerPages } from './pages/owner.ts'
import { boardsOnGamePage, publicPages } from './pages/public.ts'
import { sweepScores } from './retention.ts'
import { routes } from './routes.ts'
import { Scores } from './scores.ts'

export { boardsOfGames } from './pages/public.ts'

declare module 'fastify' {
  interface FastifyInstance {
    scores: Scores
  }
}

const SCORES_EXAMPLE = `import { board } from '/__service/scores.js'

const place = await board('points').submit(1200).catch(() => null) // nobody is signed in
const { entries } = await board('points').top(10)
console.log(place?.rank, entries.map(({ rank, player, score }) => [rank, player.name, score]))`

/** Leaderboards of games, with exact ranks. */
export default definePlugin(
  {
    name: 'scores',
    dependencies: ['oauth-idp', 'games', 'game-edge'],
    entities: [ScoreBoard, ScoreEntry, ScoreNode, ScoreDay, ScoreExclusion, ScoreDeletion, ScoreSubmission],
    migrations: [scores, playerBoards, submissions],
  },
  async (app) => {
    app.decorate('scores', new Scores(app))
    const { boards, lists, moderation } = app.scores
    const { deletion, administration } = app.identity
    app.games.deletion.cleanups.push((em, gameId) => boards.removeAllOf(em, gameId))
    deletion.exporters.set('scores', (playerId) => lists.export(playerId))
    deletion.cleanups.push((em, playerId) => moderation.removeAllOf(em, playerId))
    app.events.on('player.deleted', ({ playerId }) => moderation.removeLeftOver(playerId))
    administration.onDisabling(async (em, playerId, disabled) => {
      await moderation.setHidden(em, playerId, disabled)
      return async () => {}
    })
    app.games.pageSections.push((game, playerId) => boardsOnGamePage(app, game, playerId))
    app.games.dashboard.tabs.push({ label: 'Scores', order: 45, href: (game) => `/games/${game.slug}/scores` })
    app.games.dashboard.integrations.push({
      title: 'Scores',
      order: 20,
      guide: 'scores',
      description: 'Leaderboards. Make the board first, under Scores. A player who is not signed in cannot submit.',
      code: SCORES_EXAMPLE,
      prompt:
        "import { board } from '/__service/scores.js'; await board('points').submit(1200) rejects with the code unauthorized for players who are not signed in; (await board('points').top(10)).entries have rank, player.name and score. The owner makes the board: gameyard games boards set points --title \"Points\".",
    })
    app.games.dashboard.gameStats.push({
      label: 'scores submitted',
      order: 20,
      value: (game, from) => app.scores.submissionsSince(game.id, from),
    })
    app.jobs.every('scores/sweep', 3600, ({ signal }) => sweepScores(app.db, app.clock.now(), signal))
    await app.register(routes)
    await app.register(gameRoutes)
    await app.register(publicPages)
    await app.register(ownerPages)
  },
)
