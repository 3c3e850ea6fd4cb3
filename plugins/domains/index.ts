import { definePlugin } from '../../core/plugin.ts'
import { checkResolvers } from './dns.ts'
import { Domains } from './domains.ts'
import { GameDomain } from './entities.ts'
import { migration } from './migrations/2026_11_21_domains.ts'
import { hostPages } from './pages/host.ts'
import { ownerPages } from './pages/owner.ts'
import { routes } from './routes.ts'
import { DomainsConfig, domainsLimits } from './schemas.ts'

declare module 'fastify' {
  interface FastifyInstance {
    domains: Domains
  }
}

const CHECK_SECONDS = 60

/** Custom domains of games, after the DNS proves their ownership. */
export default definePlugin(
  {
    name: 'domains',
    dependencies: ['oauth-idp', 'games'],
    config: DomainsConfig,
    check: checkResolvers,
    limits: domainsLimits,
    entities: [GameDomain],
    migrations: [migration],
  },
  async (app, config, { domainsPerGame }) => {
    const domains = new Domains(app, config, domainsPerGame)
    app.decorate('domains', domains)
    app.games.deletion.cleanups.push((em, gameId) => em.nativeDelete(GameDomain, { gameId }))
    if (domains.possible) {
      app.addHook('onReady', () => domains.served.read())
      app.addHook('onClose', async () => stop())
      const stop = domains.served.watch()
      app.jobs.every('domains/check', CHECK_SECONDS, ({ signal }) => domains.checks.run(signal))
      app.games.dashboard.settings.push({
        title: 'A domain of your own',
        description: 'Players reach the game at a domain of your own, such as play.example.com.',
        label: 'Domains',
        href: (game) => `/games/${game.slug}/settings/domains`,
        shown: (game) => game.hosted,
      })
      app.site.navigation.push({ label: 'Domains', href: '/admin/domains', place: 'host', order: 22 })
    }
    await app.register(routes)
    await app.register(ownerPages)
    await app.register(hostPages)
  },
)
