import { definePlugin } from '../../core/plugin.ts'
import { Guides } from './guides.ts'
import { legalPages } from './legal-pages.ts'
import { pages } from './pages.ts'
import { routes } from './routes.ts'
import { guideSource } from './source.ts'

declare module 'fastify' {
  interface FastifyInstance {
    guides: Guides
  }
}

/**
 * The guides of `docs/`, at `/docs`. They are read and rendered at the first visit, and searched without an external
 * service.
 */
export default definePlugin({ name: 'docs', dependencies: ['games'] }, async (app) => {
  app.decorate('guides', new Guides(guideSource, app.origins))
  app.sitemaps.push({
    name: 'guides',
    starts: async () => ['all'],
    async pages(start) {
      const guides = start === 'all' ? (await app.guides.groups()).flatMap((group) => group.guides) : []
      return guides.length > 0 ? ['/docs', ...guides.map(({ name }) => `/docs/${name}`)].map((path) => ({ path })) : []
    },
  })
  await app.register(routes)
  await app.register(pages)
  await app.register(legalPages)
  app.site.navigation.push({ label: 'Guides', href: '/docs', place: 'main', order: 80 })
})
