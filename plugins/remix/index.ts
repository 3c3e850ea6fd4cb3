import { definePlugin } from '../../core/plugin.ts'
import { RemixRow } from './entities.ts'
import { migration } from './migrations/2026_11_24_game_remixes.ts'
import { onGamePage, pages } from './pages.ts'
import { Remixes } from './remixes.ts'
import { routes } from './routes.ts'

declare module 'fastify' {
  interface FastifyInstance {
    remixes: Remixes
  }
}

/** Own versions of games: a player makes a game from a public game whose owner allows it. */
export default definePlugin(
  {
    name: 'remix',
    dependencies: ['oauth-idp', 'games', 'deploy', 'scores'],
    entities: [RemixRow],
    migrations: [migration],
  },
  async (app) => {
    app.decorate('remixes', new Remixes(app))
    app.games.pageSections.push((game) => onGamePage(app, game))
    app.games.deletion.cleanups.push((em, gameId) => app.remixes.forgetGame(em, gameId))
    app.identity.deletion.cleanups.push((em, playerId) => app.remixes.forgetPlayer(em, playerId))
    await app.register(routes)
    await app.register(pages)
  },
)
