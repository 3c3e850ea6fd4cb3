import { callerOf, TOKENS_AND_SESSION } from '../../core/http/auth.ts'
import type { Routes } from '../../core/http/routes.ts'
import { Game } from '../games/index.ts'
import { GameParams, NewRemix } from './schemas.ts'

export const routes: Routes = async (app) => {
  app.post(
    '/api/games/:id/remix',
    {
      // The second scope is for the first deploy of the new game.
      config: {
        auth: { scope: 'games:write', also: ['deployments:write'], accepts: TOKENS_AND_SESSION },
        idempotent: true,
      },
      constraints: { origin: 'portal' },
      // Whether the caller may copy the game is checked before the body is read.
      onRequest: async (request) => {
        await app.remixes.mustBeOffered(callerOf(request).playerId, (request.params as { id: string }).id)
      },
      schema: {
        summary: 'Create your own version of a game whose owner allows it; a token needs deployments:write too',
        tags: ['games'],
        params: GameParams,
        body: NewRemix,
        response: { 201: Game },
      },
    },
    async (request, reply) => {
      const made = await app.remixes.create(callerOf(request).playerId, request.params.id, request.body)
      return reply.code(201).send(made)
    },
  )
}
