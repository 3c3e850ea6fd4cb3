import { definePlugin } from '../../core/plugin.ts'
import { contributeToGames } from './dashboard.ts'
import { GameErrorRow } from './entities.ts'
import { GameErrors } from './game-errors.ts'
import { gameRoutes } from './game-routes.ts'
import { migration } from './migrations/2026_11_29_game_errors.ts'
import { pages } from './pages.ts'
import { routes } from './routes.ts'

declare module 'fastify' {
  interface FastifyInstance {
    gameErrors: GameErrors
  }
}

/** The exceptions that games throw in the browsers of players, for their makers. */
export default definePlugin(
  {
    name: 'game-errors',
    dependencies: ['oauth-idp', 'games', 'deploy', 'game-edge'],
    entities: [GameErrorRow],
    migrations: [migration],
  },
  async (app) => {
    app.decorate('gameErrors', new GameErrors(app))
    contributeToGames(app)
    app.jobs.every('game-errors/sweep', 24 * 3600, ({ signal }) => app.gameErrors.sweep(signal))
    app.addHook('onClose', () => app.gameErrors.flush())
    await app.register(gameRoutes)
    await app.register(routes)
    await app.register(pages)
  },
)
