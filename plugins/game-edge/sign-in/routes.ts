import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { NotFound } from '../../../core/errors.ts'
import type { Routes } from '../../../core/routes.ts'
import type { Game } from '../../games/index.ts'
import { refuseServiceWorker } from '../edge.ts'
import { GameSessionAnswer } from '../schemas.ts'
import { SignInFlow, type Step } from './flow.ts'
import { returnPath } from './return-to.ts'

const Text = Type.Optional(Type.String({ maxLength: 4096 }))

/** Sign-in on a game's own origin: the four routes of the specification, `/auth/service/…`. */
export const signInRoutes: Routes = async (app) => {
  const flow = new SignInFlow(app, app.edge.sessions)
  const shared = { config: { auth: 'none' }, constraints: { origin: 'game' } } as const
  app.addHook('onRequest', refuseServiceWorker)
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store')
    // An isolated play page frames the start of a sign-in: without CORP every hop, refusals too, would be an error page.
    reply.header('cross-origin-resource-policy', 'cross-origin')
  })

  const mustName = async (request: FastifyRequest): Promise<Game> => {
    const game = await app.edge.namedBy(request)
    if (!game) throw new NotFound('game')
    return game
  }

  app.get(
    '/auth/service/start',
    {
      ...shared,
      schema: {
        summary: "Begin a player's sign-in: redirects to the portal",
        querystring: Type.Object({ returnTo: Text, embed: Text }),
      },
    },
    async (request, reply) => {
      const { returnTo, embed } = request.query
      const elsewhere = app.edge.movesTo(request)
      if (elsewhere !== null) return reply.redirect(elsewhere + request.raw.url, 302)
      const query = { returnTo, embedded: embed === '1' }
      return send(reply, await flow.start(request.raw, app.edge.hostOf(request), await mustName(request), query))
    },
  )

  app.get(
    '/auth/service/callback',
    {
      ...shared,
      schema: {
        summary: 'OAuth callback: sets the session cookie and returns to the game',
        querystring: Type.Object({ code: Text, state: Text, error: Text, iss: Text }),
      },
    },
    async (request, reply) =>
      send(reply, await flow.finish(request.raw, app.edge.hostOf(request), await mustName(request), request.query)),
  )

  app.get(
    '/auth/service/session',
    {
      ...shared,
      schema: { summary: 'Who is signed in to this game', response: { 200: GameSessionAnswer } },
    },
    async (request, reply) => {
      const session = await app.edge.sessionOf(request, await mustName(request))
      reply.header('vary', 'Cookie')
      if (!session) return { signedIn: false }
      return {
        signedIn: true,
        user: session.player,
        scope: session.scope,
        expiresAt: session.expiresAt.toISOString(),
      }
    },
  )

  app.route({
    method: ['GET', 'POST'],
    url: '/auth/service/logout',
    ...shared,
    schema: { summary: 'Sign the player out of this game', querystring: Type.Object({ returnTo: Text }) },
    handler: async (request, reply) => {
      const game = await mustName(request)
      reply.header('set-cookie', app.edge.sessions.end(request.raw, app.edge.hostOf(request), game))
      const { returnTo } = request.query as { returnTo?: string }
      // Links and forms go back to the game, scripts get an answer.
      if (/\btext\/html\b/.test(request.headers.accept ?? '')) {
        return reply.redirect(returnPath(returnTo, app.edge.originOf(request)), 303)
      }
      return { signedIn: false }
    },
  })
}

function send(reply: FastifyReply, { location, cookies }: Step): FastifyReply {
  reply.header('set-cookie', cookies)
  return reply.redirect(location, 302)
}
