import type { FastifyReply } from 'fastify'
import Type from 'typebox'
import { refusePrefetch } from '../../../core/http/request-rules.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { sendPage, signedOutPage } from '../pages.ts'
import { GameSessionAnswer } from '../schemas.ts'
import { installAnswers, shared } from './answers.ts'
import { isFramed, MORE_TO_PLAYER, saysNothing } from './cookies.ts'
import { SignInFlow, type Step } from './flow.ts'
import { gamePath } from './game-path.ts'

const Text = Type.Optional(Type.String({ maxLength: 4096 }))

/** A header that marks the play page's session in a frame, for the script there (clients/browser/frame-session.ts). */
const OF_FRAME = 'service-frame-session'

/** Sign-in on a game's own origin: the four routes of the specification, `/auth/service/…`. */
export const signInRoutes: Routes = async (app) => {
  const flow = new SignInFlow(app, app.edge.sessions)
  installAnswers(app)

  app.get(
    '/auth/service/start',
    {
      ...shared,
      onRequest: refusePrefetch,
      schema: {
        summary: "Begin a player's sign-in: redirects to the portal",
        sends: { 302: { what: 'To the portal.' } },
        querystring: Type.Object({ returnTo: Text, embed: Text, window: Text }),
      },
    },
    async (request, reply) => {
      const { returnTo, embed, window } = request.query
      const elsewhere = app.edge.movesTo(request)
      if (elsewhere !== null) return reply.redirect(elsewhere + request.raw.url, 302)
      // The portal's pages never appear in a frame.
      const query = { returnTo, embedded: embed === '1' || isFramed(request.raw), window: window === '1' }
      return send(
        reply,
        await flow.start(request.raw, app.edge.hostOf(request), await app.edge.signInGame(request), query),
      )
    },
  )

  app.get(
    '/auth/service/callback',
    {
      ...shared,
      onRequest: refusePrefetch,
      schema: {
        summary: 'OAuth callback: sets the session cookie and returns to the game',
        sends: { 302: { what: 'To the game.' } },
        querystring: Type.Object({ code: Text, state: Text, error: Text, iss: Text }),
      },
    },
    async (request, reply) =>
      send(
        reply,
        await flow.finish(request.raw, app.edge.hostOf(request), await app.edge.signInGame(request), request.query),
      ),
  )

  app.get(
    '/auth/service/session',
    {
      ...shared,
      schema: {
        summary: 'The session of the player in this game',
        security: MORE_TO_PLAYER,
        response: { 200: GameSessionAnswer },
      },
    },
    async (request, reply) => {
      const session = await app.edge.sessionOf(request, await app.edge.signInGame(request))
      reply.header('vary', 'Cookie, Authorization')
      if (!session) return { signedIn: false }
      if (session.isOfFrame) reply.header(OF_FRAME, '1')
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
    onRequest: refusePrefetch,
    schema: {
      summary: 'Sign the player out of this game',
      security: MORE_TO_PLAYER,
      querystring: Type.Object({ returnTo: Text }),
      sends: {
        200: { what: 'The player is signed out: `{ "signedIn": false }`.', types: ['application/json'] },
        303: { what: 'To the game, for links and forms.' },
      },
    },
    handler: async (request, reply) => {
      const game = await app.edge.signInGame(request)
      reply.header('set-cookie', await app.edge.sessions.end(request.raw, app.edge.hostOf(request), game))
      const { returnTo } = request.query as { returnTo?: string }
      // Links and forms redirect to the game; scripts get a response.
      if (/\btext\/html\b/.test(request.headers.accept ?? '')) {
        const to = gamePath(returnTo, app.edge.originOf(request))
        // A frame may hold a token, which only a script can delete.
        if (isFramed(request.raw) || saysNothing(request.raw, app.origins.secure))
          return sendPage(reply, signedOutPage(app.edge.script('frame-page.js'), to), 200)
        return reply.redirect(to, 303)
      }
      return { signedIn: false }
    },
  })
}

function send(reply: FastifyReply, { location, cookies }: Step): FastifyReply {
  reply.header('set-cookie', cookies)
  return reply.redirect(location, 302)
}
