import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Routes } from '../../../core/http/routes.ts'
import { OF_PLAYER, refuseServiceWorker, serveScript } from '../../game-edge/index.ts'
import type { SaveOwner } from '../save-rows.ts'
import type { SaveLimits } from '../schemas.ts'
import { saveRoutes } from './save-routes.ts'

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
          security: OF_PLAYER,
          identify: (request) => identify(app, request),
        },
        limits,
      ),
    )

    serveScript(app, 'saves.js')
  }

/** @throws NotFound, Suspended, Forbidden, Unauthorized, OtherPlayer */
async function identify(app: FastifyInstance, request: FastifyRequest): Promise<SaveOwner> {
  const { game } = await app.edge.gameOfPage(request)
  const playerId = await app.edge.playerOfPage(request, game, {
    otherOrigin: 'A save must come from a page of the game itself.',
    signedOut: 'Sign in to keep saves here.',
  })
  return { gameId: game.id, playerId }
}
