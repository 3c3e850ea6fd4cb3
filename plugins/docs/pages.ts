import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import { NotFound } from '../../core/errors.ts'
import type { Routes } from '../../core/http/routes.ts'
import { renderPage } from '../../core/pages/index.ts'
import { guidePage, overviewPage } from './guide-page.ts'
import type { ReaderGame } from './placeholders.ts'

const open = { config: { auth: 'optional', page: true }, constraints: { origin: 'portal' } } as const
/** The maximum number of games in the selection for the snippets. */
const CHOICES = 20

const Name = Type.Object({ name: Type.String({ maxLength: 60 }) })
const Search = Type.Object({ q: Type.Optional(Type.String({ maxLength: 100 })) })
const Filled = Type.Object({ game: Type.Optional(Type.String({ maxLength: 63 })) })

/** `/docs` with search, and one page for each guide. */
export const pages: Routes = async (app) => {
  /** Returns the reader's games, newest first. */
  const gamesOf = async (request: FastifyRequest): Promise<ReaderGame[]> => {
    const id = request.principal?.viewer?.id
    return id ? (await app.games.list(id, { limit: CHOICES })).games : []
  }

  app.get('/docs', { ...open, schema: { querystring: Search } }, async (request, reply) => {
    const query = request.query.q?.trim() ?? ''
    return renderPage(reply, {
      title: query ? `${query} in the guides` : 'Guides',
      description: 'How to publish a game here, sign players in, open rooms, and host a yard of your own.',
      share: { path: '/docs' },
      current: '/docs',
      user: request.principal?.viewer,
      scripts: ['guide-search.js'],
      body: overviewPage(await app.guides.groups(), query, query ? await app.guides.search(query) : null),
    })
  })

  app.get('/docs/:name', { ...open, schema: { params: Name, querystring: Filled } }, async (request, reply) => {
    const found = await app.guides.find(request.params.name)
    if (!found) throw new NotFound('guide')
    return app.keptPages.send(request, reply, async () => {
      const games = await gamesOf(request)
      const game = games.find(({ slug }) => slug === request.query.game) ?? games[0] ?? null
      return renderPage(reply, {
        title: found.guide.title,
        description: found.guide.summary,
        share: { path: `/docs/${found.guide.name}` },
        current: '/docs',
        user: request.principal?.viewer,
        scripts: ['guide-search.js'],
        body: guidePage({ ...found, groups: await app.guides.groups(), games, game, origins: app.origins }),
      })
    })
  })
}
