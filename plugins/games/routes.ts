import { callerOf } from '../../core/auth.ts'
import { PageQuery } from '../../core/pagination.ts'
import type { Routes } from '../../core/routes.ts'
import { CatalogQuery, CreatedGame, Game, GameChanges, GameList, GameParams, NewGame } from './schemas.ts'

const constraints = { origin: 'portal' } as const
// The portal's own pages call these too, with the browser session.
const accepts = ['api-token', 'cli-token', 'session'] as const
const reads = { auth: { scope: 'games:read', accepts } } as const
const writes = { auth: { scope: 'games:write', accepts } } as const

export const routes: Routes = async (app) => {
  app.post(
    '/api/games',
    {
      config: { ...writes, idempotent: true },
      constraints,
      schema: {
        summary: 'Make a game, with its address and its OAuth application',
        tags: ['games'],
        body: NewGame,
        response: { 201: CreatedGame },
      },
    },
    async (request, reply) => {
      reply.code(201).header('cache-control', 'no-store')
      return app.games.create(callerOf(request).playerId, request.body)
    },
  )

  app.get(
    '/api/games',
    {
      config: reads,
      constraints,
      schema: {
        summary: 'Your games, newest first',
        tags: ['games'],
        querystring: PageQuery,
        response: { 200: GameList },
      },
    },
    async (request) => app.games.list(callerOf(request).playerId, request.query),
  )

  app.get(
    '/api/games/:id',
    {
      config: reads,
      constraints,
      schema: { summary: 'One of your games', tags: ['games'], params: GameParams, response: { 200: Game } },
    },
    async (request) => app.games.mustOwn(callerOf(request).playerId, request.params.id),
  )

  app.patch(
    '/api/games/:id',
    {
      config: writes,
      constraints,
      // Ownership before the body: another's game is 404 whatever was sent.
      preParsing: async (request) => {
        await app.games.mustOwn(callerOf(request).playerId, (request.params as { id: string }).id)
      },
      schema: {
        summary: 'Change a game; a new url moves the redirect URI of its sign-in',
        tags: ['games'],
        params: GameParams,
        body: GameChanges,
        response: { 200: Game },
      },
    },
    async (request) => app.games.update(callerOf(request).playerId, request.params.id, request.body),
  )

  app.delete(
    '/api/games/:id',
    {
      config: writes,
      constraints,
      schema: { summary: 'Delete a game; it rests for 30 days', tags: ['games'], params: GameParams },
    },
    async (request, reply) => {
      await app.games.remove(callerOf(request).playerId, request.params.id)
      return reply.code(204).send()
    },
  )

  app.get(
    '/api/catalog/games',
    {
      config: { auth: 'none' },
      constraints,
      schema: {
        summary: 'Public games',
        tags: ['games'],
        querystring: CatalogQuery,
        response: { 200: GameList },
      },
    },
    async (request) => app.games.catalog(request.query),
  )
}
