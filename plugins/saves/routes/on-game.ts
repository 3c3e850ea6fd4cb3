import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Forbidden } from '../../../core/errors.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { isFromPageOf } from '../../../core/origins/same-origin.ts'
import { refuseServiceWorker, SCRIPT_CACHE, signInRequired } from '../../game-edge/index.ts'
import { OtherPlayer } from '../errors.ts'
import type { SaveOwner } from '../save-rows.ts'
import type { SaveLimits } from '../schemas.ts'
import { saveRoutes } from './save-routes.ts'

const SAFE = new Set(['GET', 'HEAD'])
const CLIENT = '/__service/saves.js'

/** `/__service/saves…` and the client script, on each game's own origin. */
export const gameRoutes =
  (limits: SaveLimits): Routes =>
  async (app) => {
    app.addHook('onRequest', refuseServiceWorker)
    await app.register(
      saveRoutes(
        {
          path: '/__service/saves',
          origin: 'game',
          config: { auth: 'none', quiet: true },
          identify: (request) => identify(app, request),
        },
        limits,
      ),
    )

    app.get(
      CLIENT,
      {
        config: { auth: 'none', quiet: true },
        constraints: { origin: 'game' },
        onRequest: (request) => app.edge.refuseSuspended(request),
        schema: { hide: true },
      },
      async (request, reply) => {
        reply.header('cross-origin-resource-policy', 'same-origin')
        reply.header('x-content-type-options', 'nosniff')
        return app.browserFiles.send(request, reply, 'saves.js', SCRIPT_CACHE)
      },
    )
  }

/**
 * The player of the game session. A preview has the saves of its game, for players who may see the preview.
 *
 * A change must come from a page of exactly this origin, since a sibling game on the same site sends this game's Lax
 * cookies.
 *
 * A page that was loaded before another player signed in here must not write into that player's saves. It names its
 * player in the header `Service-Player`.
 *
 * @throws NotFound, Suspended, Forbidden, Unauthorized, OtherPlayer
 */
async function identify(app: FastifyInstance, request: FastifyRequest): Promise<SaveOwner> {
  const site = app.origins.of(request.raw)
  const isPreview = site.kind === 'game' && site.preview !== null
  const game = isPreview ? await app.edge.signInGame(request) : await app.edge.gameOf(request)
  if (!SAFE.has(request.method)) {
    if (!isFromPageOf(request.headers, app.edge.originOf(request)))
      throw new Forbidden('A save must come from a page of the game itself.')
  }
  const session = await app.edge.sessionOf(request, game)
  if (!session) throw signInRequired('Sign in to keep saves here.')
  const meant = request.headers['service-player']
  if (meant !== undefined && meant !== session.player.id) throw new OtherPlayer()
  return { gameId: game.id, playerId: session.player.id }
}
