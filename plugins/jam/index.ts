import { definePlugin } from '../../core/plugin.ts'
import { JamEntryRow, JamRow, JamVoteRow } from './entities.ts'
import { Jams } from './jams.ts'
import { migration } from './migrations/2026_11_21_jam.ts'
import { deadline } from './migrations/2026_11_29_jam_deadline.ts'
import { pages } from './pages.ts'
import { routes } from './routes.ts'

declare module 'fastify' {
  interface FastifyInstance {
    jams: Jams
  }
}

/** A game jam: games are submitted, played, voted on, and the results revealed. */
export default definePlugin(
  {
    name: 'jam',
    dependencies: ['oauth-idp', 'games', 'multiplayer', 'scores'],
    entities: [JamRow, JamEntryRow, JamVoteRow],
    migrations: [migration, deadline],
  },
  async (app) => {
    app.decorate('jams', new Jams(app))
    app.games.deletion.cleanups.push(async (em, gameId) => {
      await em.nativeDelete(JamVoteRow, { gameId })
      await em.nativeDelete(JamEntryRow, { gameId })
    })
    const { deletion } = app.identity
    deletion.cleanups.push((em, voterId) => app.jams.forgetVoter(em, voterId))
    deletion.exporters.set('jamVotes', (voterId) => app.jams.export(voterId))
    // On a LAN the jam is the main purpose; elsewhere only administrators see the link.
    app.site.navigation.push(
      app.config.lan.enabled
        ? { label: 'Jam', href: '/jam', place: 'main', order: 5 }
        : { label: 'Game jam', href: '/jam', place: 'host', order: 25 },
    )
    await app.register(routes)
    await app.register(pages)
  },
)
