import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import { Forbidden, Unauthorized } from '../../../core/errors.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { SignInFailed } from '../errors.ts'
import { sendPage, signInWindowPage } from '../pages.ts'
import { installAnswers, shared } from '../sign-in/answers.ts'
import { saysNothing } from '../sign-in/cookies.ts'
import { gamePath } from '../sign-in/game-path.ts'

const Body = Type.Object({
  ticket: Type.String({ maxLength: 100, description: 'Of the page around the frame: good once, for a minute.' }),
})
const FrameToken = Type.Object({
  token: Type.String({ description: 'Sent as `Authorization: Service …`, where the browser keeps no cookie.' }),
  expiresAt: Type.String({ format: 'date-time' }),
})

/** Sign-in of a framed game, on the game's own origin. */
export const embeddedRoutes: Routes = async (app) => {
  const { embedded, sessions } = app.edge
  installAnswers(app)

  app.post(
    '/auth/service/embed',
    {
      ...shared,
      schema: {
        summary: "Sign a player in to a framed game, by a ticket of the portal's play page",
        description:
          'Accepted only in a frame, from a form of the portal. After any error the answer leads to the game, signed out.',
        sends: { 303: { what: 'To the game.' } },
        querystring: Type.Object({ returnTo: Type.Optional(Type.String({ maxLength: 4096 })) }),
        body: Body,
      },
    },
    async (request, reply) => {
      const place = { game: await app.edge.mustName(request), host: app.edge.hostOf(request) }
      if (!comesFromPlayPage(request)) throw new SignInFailed('This is for the play page of the portal.')
      const granted = await embedded.redeem(request.body.ticket, 'cookie', place)
      if (!granted) throw new SignInFailed('The ticket is not valid: it may be used up or expired.')
      reply.header('set-cookie', await sessions.start(request.raw, place.host, place.game, granted))
      reply.header('content-security-policy', `frame-ancestors ${app.origins.portal}`)
      embedded.count(place.game, granted.player.id)
      return reply.redirect(gamePath(request.query.returnTo, app.edge.originOf(request)), 303)
    },
  )

  app.post(
    '/auth/service/frame-token',
    {
      ...shared,
      schema: {
        summary: 'Sign a player in to a framed game whose browser keeps no cookie there',
        description: 'For the script that the platform puts into framed games. Sets the cookie too, where one is kept.',
        body: Body,
        response: { 200: FrameToken },
      },
    },
    async (request, reply) => {
      mustBeOwnScript(request)
      const place = { game: await app.edge.signInGame(request), host: app.edge.hostOf(request) }
      const granted = await embedded.redeem(request.body.ticket, 'token', place)
      if (!granted) throw new SignInFailed('The ticket is not valid: it may be used up or expired.')
      const cookies = await sessions.start(request.raw, place.host, place.game, granted, { framed: true })
      const { token, expiresAt } = await sessions.frameToken(place.host, place.game, granted)
      reply.header('set-cookie', cookies)
      return { token, expiresAt: expiresAt.toISOString() }
    },
  )

  app.get('/auth/service/window', { ...shared, schema: { hide: true } }, async (request, reply) => {
    await app.edge.signInGame(request)
    return sendPage(reply, signInWindowPage(app.edge.script('frame-page.js')), 200)
  })

  app.post('/auth/service/hand-over', { ...shared, schema: { hide: true, body: Body } }, async (request, reply) => {
    mustBeOwnScript(request)
    const game = await app.edge.signInGame(request)
    const session = await app.edge.sessionOf(request, game)
    if (!session) throw new Unauthorized('Sign in first.')
    await embedded.handOver(request.body.ticket, session, { game, host: app.edge.hostOf(request) })
    return reply.code(204).send()
  })

  /**
   * Whether a request comes from the play page. Otherwise a foreign page could post its own ticket and so sign its
   * visitor in as itself (login CSRF). Browsers send the purpose of a request (Fetch metadata) on https and at
   * `localhost`; elsewhere (plain http on a LAN) the origin is checked.
   */
  function comesFromPlayPage(request: FastifyRequest): boolean {
    const { origin, 'sec-fetch-dest': destination } = request.headers
    if (origin !== app.origins.portal) return false
    return destination === 'iframe' || saysNothing(request.raw, app.origins.secure)
  }

  /** Requires a request from a script of the game's own pages. @throws Forbidden */
  function mustBeOwnScript(request: FastifyRequest): void {
    const { origin, 'sec-fetch-dest': destination } = request.headers
    const byScript = destination === 'empty' || saysNothing(request.raw, app.origins.secure)
    if (origin !== app.edge.originOf(request) || !byScript)
      throw new Forbidden('This is for scripts of the game itself.')
  }
}
