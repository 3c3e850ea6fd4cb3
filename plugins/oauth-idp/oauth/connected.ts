import Type from 'typebox'
import { callerOf } from '../../../core/auth.ts'
import { renderPage } from '../../../core/pages.ts'
import type { Routes } from '../../../core/routes.ts'
import { ConnectedPage } from './connected-page.ts'

const signedIn = { config: { auth: 'session', page: true }, constraints: { origin: 'portal' } } as const

/** /settings/connected: what players have told games, and its end. */
export const connectedPages: Routes = async (app) => {
  const { consents, settings } = app.identity
  settings.push({ label: 'Connected games', href: '/settings/connected', order: 40 })

  app.get(
    '/settings/connected',
    { ...signedIn, schema: { querystring: Type.Object({ done: Type.Optional(Type.String({ maxLength: 20 })) }) } },
    async (request, reply) => {
      const { playerId, viewer } = callerOf(request)
      return renderPage(reply, {
        title: 'Connected games',
        current: '/settings',
        user: viewer,
        flash: request.query.done === 'revoked' ? { message: 'That game knows you no longer.' } : null,
        body: ConnectedPage({ entries: settings, games: await consents.list(playerId) }),
      })
    },
  )

  app.post(
    '/settings/connected/:clientId/revoke',
    { ...signedIn, schema: { params: Type.Object({ clientId: Type.String() }) } },
    async (request, reply) => {
      await consents.revoke(callerOf(request).playerId, request.params.clientId)
      return reply.redirect('/settings/connected?done=revoked', 303)
    },
  )
}
