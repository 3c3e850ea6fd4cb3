import { definePlugin } from '../../core/plugin.ts'
import { Guides } from './guides.ts'
import { pages } from './pages.ts'
import { routes } from './routes.ts'
import { guideSource } from './source.ts'

declare module 'fastify' {
  interface FastifyInstance {
    guides: Guides
  }
}

/** The guides of `docs/`, at `/docs`: read and rendered at the first visit, searched without anybody's help. */
export default definePlugin({ name: 'docs', dependencies: ['games'] }, async (app) => {
  app.decorate('guides', new Guides(guideSource))
  await app.register(routes)
  await app.register(pages)
  app.site.navigation.push({ label: 'Guides', href: '/docs', place: 'main', order: 80 })
})
