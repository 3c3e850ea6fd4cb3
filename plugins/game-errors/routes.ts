import Type from 'typebox'
import { callerOf, TOKENS_AND_SESSION } from '../../core/http/auth.ts'
import type { Routes } from '../../core/http/routes.ts'
import { GameErrorList, GameParams } from './schemas.ts'

const accepts = TOKENS_AND_SESSION
const constraints = { origin: 'portal' } as const
const tags = ['games']

/** The API of the errors of a game, for its makers. */
export const routes: Routes = async (app) => {
  app.get(
    '/api/games/:id/errors',
    {
      config: { auth: { scope: 'games:read', accepts } },
      constraints,
      schema: {
        summary: 'The exceptions in the pages of a game, the latest first',
        description:
          'Pages that load `/__service/errors.js` report them. An error is kept for 30 days after it occurred last.',
        tags,
        params: GameParams,
        response: { 200: GameErrorList },
      },
    },
    async (request, reply) => {
      const game = await app.games.mustMake(callerOf(request).playerId, request.params.id)
      reply.header('cache-control', 'no-store')
      return { errors: await app.gameErrors.list(game.id) }
    },
  )

  app.delete(
    '/api/games/:id/errors',
    {
      config: { auth: { scope: 'games:write', accepts } },
      constraints,
      // Another player's game is not found, whatever the body.
      onRequest: async (request) => {
        await app.games.mustMake(callerOf(request).playerId, request.params.id)
      },
      schema: {
        summary: 'Forget the exceptions of a game',
        tags,
        params: GameParams,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const game = await app.games.mustMake(callerOf(request).playerId, request.params.id)
      await app.gameErrors.clear(game.id)
      return reply.code(204).send(null)
    },
  )
}
