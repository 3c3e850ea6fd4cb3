import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Forbidden, missingScopes } from '../../../core/errors.ts'
import { callerOf } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import type { SaveOwner } from '../save-rows.ts'
import type { SaveLimits } from '../schemas.ts'
import { saveRoutes } from './save-routes.ts'

const SCOPE = 'saves'

/** `/api/saves…` on the portal, for a game's own server with an access token of its player. */
export const apiRoutes =
  (limits: SaveLimits): Routes =>
  async (app) => {
    await app.register(
      saveRoutes(
        {
          path: '/api/saves',
          origin: 'portal',
          config: { auth: { accepts: ['oauth-token'] } },
          identify: (request) => identify(app, request),
        },
        limits,
      ),
    )
  }

/**
 * The player and the game of an access token. A hosted game need not ask for the scope.
 *
 * @throws Forbidden when the application of the token is no game; MissingScope, NotFound, Suspended
 */
async function identify(app: FastifyInstance, request: FastifyRequest): Promise<SaveOwner> {
  const { playerId, clientId, scopes } = callerOf(request)
  const game = clientId === undefined ? null : await app.games.byClient(clientId)
  if (!game) throw new Forbidden('Saves belong to a game, and the application of this token is none.')
  if (scopes !== 'all' && !scopes.has(SCOPE) && !game.hosted) throw missingScopes([SCOPE])
  return { gameId: app.games.mustPlay(playerId, game).id, playerId }
}
