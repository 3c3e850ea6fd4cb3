import type { FastifyInstance, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { NotFound } from '../../../core/errors.ts'
import { callerOf } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import type { Game } from '../../games/index.ts'
import { SIGN_IN_SCOPE } from '../sign-in/flow.ts'

const Ticket = Type.Object({
  ticket: Type.Union([Type.String(), Type.Null()], {
    description: `null: the player has to be asked first whether the game may know their ${SIGN_IN_SCOPE}.`,
  }),
  action: Type.String({ description: 'Where the ticket is posted to, by a form whose target is the frame.' }),
})

/** Requests of the play page to the portal, just before it opens its frame. */
export const portalRoutes: Routes = async (app) => {
  app.post(
    '/games/:slug/play-ticket',
    {
      config: { auth: 'session' },
      constraints: { origin: 'portal' },
      // Access is checked before the body is read, so that an invalid body reveals nothing about a hidden game.
      onRequest: async (request) => void (await playableGame(app, request)),
      schema: {
        hide: true,
        params: Type.Object({ slug: Type.String({ maxLength: 63 }) }),
        body: Type.Object({ purpose: Type.Union([Type.Literal('cookie'), Type.Literal('token')]) }),
        response: { 200: Ticket },
      },
    },
    async (request, reply) => {
      const { playerId, credentialId: sessionId } = callerOf(request)
      const game = await playableGame(app, request)
      reply.header('cache-control', 'no-store')
      const ticket = await app.edge.embedded.ticketFor({ playerId, sessionId }, game, request.body.purpose)
      return { ticket, action: `${app.origins.game(game.slug)}/auth/service/embed` }
    },
  )
}

/** Returns the game of the address if its caller may play it here. @throws NotFound, Suspended */
async function playableGame(app: FastifyInstance, request: FastifyRequest): Promise<Game> {
  const found = await app.games.bySlug((request.params as { slug: string }).slug)
  const game = app.games.mustPlay(callerOf(request).playerId, found)
  if (!game.hosted) throw new NotFound('game')
  return game
}
