import Type from 'typebox'
import { callerAddress } from '../../../core/http/rate-limit.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { ChallengeOrNull, GuestBody, Pending, SessionState, SignedInPlayer, SignInBody, SignUpBody } from './schemas.ts'

const constraints = { origin: 'portal' }
const tags = ['Sign-in']
const rateLimitGroup = 'sign-in'

/** Sign-up and sign-in for the portal's own scripts. */
export const playerRoutes: Routes = async (app) => {
  const { players, passwords, sessions, signUp, waysBack, config } = app.identity

  app.get(
    '/api/auth/sign-up/challenge',
    {
      config: { auth: 'none', rateLimitGroup },
      constraints,
      schema: {
        tags,
        summary: 'The proof of work of a new account',
        description:
          'Find the number whose decimal text, as the password of PBKDF2 with SHA-256, `salt` and `iterations`, gives `target`. Send the `token`, a dot and the number as `work`. A challenge is valid for ten minutes and for one account.',
        response: { 200: ChallengeOrNull },
      },
    },
    async (request, reply) => {
      reply.header('cache-control', 'no-store')
      const { challenge } = signUp
      return { challenge: challenge.isRequired ? await challenge.issue(callerAddress(request)) : null }
    },
  )

  app.post(
    '/api/auth/sign-up',
    {
      config: { auth: 'none', sameOrigin: true, rateLimitGroup },
      constraints,
      schema: {
        tags,
        summary: 'Create an account and sign in; with auth.verifyEmail, a mailed link does so',
        body: SignUpBody,
        response: { 201: SignedInPlayer, 202: Pending },
      },
    },
    async (request, reply) => {
      const { work, returnTo } = request.body
      // The way back marks the browser with a cookie, which a program without one need not get.
      const leadsBack = config.verifyEmail && returnTo !== undefined
      const wayBack = leadsBack ? waysBack.begin(request, reply, returnTo) : undefined
      const user = await signUp.begin(request.body, { address: callerAddress(request), work, wayBack })
      if (!user) {
        reply.code(202).header('cache-control', 'no-store')
        return { pending: true as const }
      }
      await sessions.start(reply, user.id)
      reply.code(201).header('cache-control', 'no-store')
      return { user }
    },
  )

  app.post(
    '/api/auth/guest',
    {
      config: { auth: 'none', sameOrigin: true, rateLimitGroup },
      constraints,
      schema: { tags, summary: 'Play as a guest', body: GuestBody, response: { 201: SignedInPlayer } },
    },
    async (request, reply) => {
      const user = await signUp.guest(request.body.name, { address: callerAddress(request), work: request.body.work })
      await sessions.start(reply, user.id)
      reply.code(201).header('cache-control', 'no-store')
      return { user }
    },
  )

  app.post(
    '/api/auth/sign-in',
    {
      config: { auth: 'none', sameOrigin: true, rateLimitGroup },
      constraints,
      schema: { tags, summary: 'Sign in', body: SignInBody, response: { 200: SignedInPlayer } },
    },
    async (request, reply) => {
      const { player: user, epoch } = await passwords.authenticate(request.body, callerAddress(request))
      await sessions.start(reply, user.id, epoch)
      reply.header('cache-control', 'no-store')
      return { user }
    },
  )

  app.post(
    '/api/auth/sign-out',
    {
      config: { auth: 'none', sameOrigin: true, rateLimitGroup },
      constraints,
      schema: { tags, summary: 'Sign out', response: { 204: Type.Null() } },
    },
    async (request, reply) => {
      await sessions.end(request, reply)
      return reply.code(204).header('cache-control', 'no-store').send(null)
    },
  )

  app.get(
    '/api/auth/session',
    {
      config: { auth: 'optional' },
      constraints,
      schema: { tags, summary: 'The browser session', response: { 200: SessionState } },
    },
    async (request, reply) => {
      reply.header('cache-control', 'no-store')
      const { principal } = request
      const player = principal?.kind === 'session' ? await players.find(principal.playerId) : null
      if (!player) return { signedIn: false }
      const { disabled: _, epoch: __, ...user } = player
      return { signedIn: true, user }
    },
  )
}
