import { MissingScope } from '../../core/errors.ts'
import { callerOf, TOKENS_AND_SESSION } from '../../core/http/auth.ts'
import type { Routes } from '../../core/http/routes.ts'
import { Game } from '../games/index.ts'
import { GameParams, NewRemix } from './schemas.ts'

/** The route's scope is for the new game, this one for its first deploy. */
const SECOND_SCOPE = 'deployments:write'

export const routes: Routes = async (app) => {
  app.post(
    '/api/games/:id/remix',
    {
      config: { auth: { scope: 'games:write', accepts: TOKENS_AND_SESSION }, idempotent: true },
      constraints: { origin: 'portal' },
      // Whether the caller may copy the game is checked before the body is read.
      onRequest: async (request) => {
        const { playerId, scopes } = callerOf(request)
        if (scopes !== 'all' && !scopes.has(SECOND_SCOPE)) {
          throw new MissingScope(SECOND_SCOPE).with({
            headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${SECOND_SCOPE}"` },
          })
        }
        await app.remixes.mustBeOffered(playerId, (request.params as { id: string }).id)
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
