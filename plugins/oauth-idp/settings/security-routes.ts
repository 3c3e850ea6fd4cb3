import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { callerOf } from '../../../core/http/auth.ts'
import { callerAddress } from '../../../core/http/rate-limit.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { renderPage } from '../../../core/pages/index.ts'
import { InvalidCredentials } from '../errors.ts'
import { type FormProblem, formProblemOf } from '../form-problems.ts'
import { SecurityPage } from './security-page.ts'

const signedIn = { config: { auth: 'session', page: true }, constraints: { origin: 'portal' } } as const
const Text = Type.Optional(Type.String({ maxLength: 4096 }))

/** The messages after a step. The address contains only the name of the step. */
const DONE: Record<string, string> = {
  password:
    'Your password is changed. You were signed out everywhere else. Passkeys, connected accounts and API tokens still work: remove what is not yours.',
  address: 'You have an email address now. Set a password to sign in with it.',
  session: 'That browser is signed out.',
  sessions: 'Every other browser is signed out.',
  passkey: 'The passkey is added.',
  'passkey-removed': 'The passkey is removed. Delete it on your device, too.',
  connected: 'The account is connected.',
  disconnected: 'The account is disconnected.',
}

/** /settings/security: the sign-in methods and sessions of the player. */
export const securityPages: Routes = async (app) => {
  const { players, passwords, sessions, passkeys, upstream, settings, config } = app.identity
  settings.push({ label: 'Security', href: '/settings/security', order: 20 })

  app.get(
    '/settings/security',
    { ...signedIn, schema: { querystring: Type.Object({ done: Type.Optional(Type.String()) }) } },
    async (request, reply) => securityPage(request, reply, { done: request.query.done }),
  )

  // Password managers lead to the form by this address (W3C, A Well-Known URL for Changing Passwords).
  app.get(
    '/.well-known/change-password',
    { config: { auth: 'none' }, constraints: { origin: 'portal' }, schema: { hide: true } },
    async (_request, reply) => reply.redirect('/settings/security', 302),
  )

  app.post(
    '/settings/password',
    { ...signedIn, schema: { body: Type.Object({ current: Text, password: Text }) } },
    async (request, reply) => {
      const { current = '', password = '' } = request.body
      const { playerId, credentialId: sessionId } = callerOf(request)
      try {
        const change = { playerId, sessionId, current, next: password, address: callerAddress(request) }
        const epoch = await passwords.change(change)
        await sessions.start(reply, playerId, epoch) // every session has ended; this browser gets a new one
        return reply.redirect('/settings/security?done=password', 303)
      } catch (error) {
        const passwordProblem = formProblemOf(error)
        if (error instanceof InvalidCredentials) {
          Object.assign(passwordProblem, { message: undefined, fields: { current: 'This is not your password.' } })
        }
        return securityPage(request, reply, { passwordProblem })
      }
    },
  )

  app.post(
    '/settings/sessions/:id/revoke',
    { ...signedIn, schema: { params: Type.Object({ id: Type.String() }) } },
    async (request, reply) => {
      await sessions.revoke(callerOf(request).playerId, request.params.id)
      return reply.redirect('/settings/security?done=session', 303)
    },
  )

  app.post('/settings/sessions/revoke-others', signedIn, async (request, reply) => {
    const { playerId, credentialId } = callerOf(request)
    await sessions.revokeOthers(playerId, credentialId)
    return reply.redirect('/settings/security?done=sessions', 303)
  })

  app.post(
    '/settings/passkeys/remove',
    { ...signedIn, schema: { body: Type.Object({ id: Type.String({ maxLength: 1400 }) }) } },
    async (request, reply) => {
      await passkeys.remove(callerOf(request).playerId, request.body.id)
      return reply.redirect('/settings/security?done=passkey-removed', 303)
    },
  )

  app.post(
    '/settings/accounts/disconnect',
    { ...signedIn, schema: { body: Type.Object({ provider: Type.String(), subject: Type.String() }) } },
    async (request, reply) => {
      const { provider, subject } = request.body
      await upstream.disconnect(callerOf(request).playerId, provider, subject)
      return reply.redirect('/settings/security?done=disconnected', 303)
    },
  )

  async function securityPage(
    request: FastifyRequest,
    reply: FastifyReply,
    { done, passwordProblem }: { done?: string | undefined; passwordProblem?: FormProblem },
  ) {
    const { playerId, viewer, credentialId } = callerOf(request)
    const [player, hasPassword, keys, accounts, list] = await Promise.all([
      players.find(playerId),
      passwords.has(playerId),
      passkeys.list(playerId),
      upstream.list(playerId),
      sessions.list(playerId),
    ])
    const message = done === undefined ? undefined : DONE[done]
    return renderPage(reply.headers(passwordProblem?.headers ?? {}), {
      title: 'Security',
      current: '/settings',
      user: viewer,
      scripts: ['passkeys.js'],
      status: passwordProblem?.status ?? 200,
      flash: message ? { message } : null,
      body: SecurityPage({
        entries: settings,
        email: player?.email ?? null,
        isGuest: player?.isGuest ?? false,
        hasPassword,
        minLength: config.passwordMinLength,
        passkeys: keys,
        passkeysPossible: passkeys.possible,
        boundElsewhere: (passkey) => passkeys.boundElsewhere(passkey),
        providers: upstream.choices,
        accounts,
        sessions: list,
        currentSession: credentialId,
        passwordProblem,
      }),
    })
  }
}
