import Type from 'typebox'
import type { Routes } from '../../core/http/routes.ts'

const Found = Type.Object({
  href: Type.String({ description: 'Path of the section on the portal.' }),
  guide: Type.String({ description: 'Title of the guide.' }),
  heading: Type.String(),
  excerpt: Type.Array(Type.String(), { description: 'Words around the match; those at odd places matched.' }),
})

/** Search as JSON, for the search field during typing. */
export const routes: Routes = async (app) => {
  app.get(
    '/api/docs/search',
    {
      config: { auth: 'none' },
      constraints: { origin: 'portal' },
      schema: {
        summary: 'Search the guides',
        tags: ['guides'],
        querystring: Type.Object({
          q: Type.String({ maxLength: 100, description: 'Words; the last may be incomplete.' }),
        }),
        response: { 200: Type.Object({ sections: Type.Array(Found) }) },
      },
    },
    async (request, reply) => {
      reply.header('cache-control', 'public, max-age=300')
      return { sections: await app.guides.search(request.query.q, 8) }
    },
  )
}
