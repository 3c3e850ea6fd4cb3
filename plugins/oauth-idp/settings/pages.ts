import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { callerOf } from '../../../core/auth.ts'
import { renderPage } from '../../../core/pages.ts'
import type { Routes } from '../../../core/routes.ts'
import { InvalidCredentials } from '../errors.ts'
import { type FormTrouble, troubleOf } from '../forms.ts'
import { AccountPage } from './account-page.ts'

const signedIn = { config: { auth: 'session', page: true }, constraints: { origin: 'portal' } } as const
const Text = Type.Optional(Type.String({ maxLength: 4096 }))

/** What the last step did; the address only names it. */
const DONE: Record<string, string> = {
  name: 'Your name is changed.',
  password: 'Your password is changed. You were signed out everywhere else.',
  session: 'That browser is signed out.',
}

/** /settings: name, password and the browsers that are signed in. */
export const settingsPages: Routes = async (app) => {
  const { players, sessions, settings, config } = app.identity
  settings.push({ label: 'Account', href: '/settings', order: 10 })

  app.get(
    '/settings',
    { ...signedIn, schema: { querystring: Type.Object({ done: Type.Optional(Type.String()) }) } },
    async (request, reply) => accountPage(request, reply, { done: request.query.done }),
  )

  app.post('/settings/name', { ...signedIn, schema: { body: Type.Object({ name: Text }) } }, async (request, reply) => {
    const { name = '' } = request.body
    try {
      await players.rename(callerOf(request).playerId, name)
      return reply.redirect('/settings?done=name', 303)
    } catch (error) {
      return accountPage(request, reply, { name, nameTrouble: troubleOf(error) })
    }
  })

  app.post(
    '/settings/password',
    { ...signedIn, schema: { body: Type.Object({ current: Text, password: Text }) } },
    async (request, reply) => {
      const { current = '', password = '' } = request.body
      const { playerId } = callerOf(request)
      try {
        await players.changePassword(playerId, current, password, request.ip)
        await sessions.start(reply, playerId) // every session has ended; this browser stays
        return reply.redirect('/settings?done=password', 303)
      } catch (error) {
        const passwordTrouble = troubleOf(error)
        if (error instanceof InvalidCredentials) {
          Object.assign(passwordTrouble, { message: undefined, fields: { current: 'This is not your password.' } })
        }
        return accountPage(request, reply, { passwordTrouble })
      }
    },
  )

  app.post(
    '/settings/sessions/:id/revoke',
    { ...signedIn, schema: { params: Type.Object({ id: Type.String() }) } },
    async (request, reply) => {
      await sessions.revoke(callerOf(request).playerId, request.params.id)
      return reply.redirect('/settings?done=session', 303)
    },
  )

  async function accountPage(
    request: FastifyRequest,
    reply: FastifyReply,
    state: { done?: string | undefined; name?: string; nameTrouble?: FormTrouble; passwordTrouble?: FormTrouble },
  ) {
    const { playerId, viewer, credentialId } = callerOf(request)
    const [player, list] = await Promise.all([players.find(playerId), sessions.list(playerId)])
    const message = state.done === undefined ? undefined : DONE[state.done]
    return renderPage(reply, {
      title: 'Settings',
      current: '/settings',
      user: viewer,
      status: state.nameTrouble?.status ?? state.passwordTrouble?.status ?? 200,
      flash: message ? { message } : null,
      body: AccountPage({
        ...state,
        entries: settings,
        name: state.name ?? player?.name ?? '',
        email: player?.email ?? '',
        sessions: list,
        currentSession: credentialId,
        minLength: config.passwordMinLength,
      }),
    })
  }
}
