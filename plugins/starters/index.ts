import { definePlugin } from '../../core/plugin.ts'
import { pages } from './pages.ts'
import { Starters } from './starters.ts'

declare module 'fastify' {
  interface FastifyInstance {
    starters: Starters
  }
}

/** Starters: small complete games, from which one makes a game of one's own. */
export default definePlugin({ name: 'starters', dependencies: ['games', 'deploy', 'scores'] }, async (app) => {
  app.decorate('starters', new Starters(app))
  app.games.dashboard.newGame.push({
    label: 'From a starter',
    href: '/games/new/starter',
  })
  await app.register(pages)
})
