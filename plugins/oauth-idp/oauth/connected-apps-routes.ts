import Type from 'typebox'
import { callerOf } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { renderPage } from '../../../core/pages/index.ts'
import { ConnectedPage } from './connected-apps-page.ts'

const signedIn = { config: { auth: 'session', page: true }, constraints: { origin: 'portal' } } as const

/** /settings/connected: shows the data that games received, and revokes their access. */
export const connectedPages: Routes = async (app) => {
  const { apps, consents, settings, resources, connectedSections, connectionFlushes } = app.identity
  settings.push({ label: 'Connected games and programs', href: '/settings/connected', order: 40 })

  app.get(
    '/settings/connected',
    { ...signedIn, schema: { querystring: Type.Object({ done: Type.Optional(Type.String({ maxLength: 20 })) }) } },
    async (request, reply) => {
      const { playerId, viewer } = callerOf(request)
      await Promise.all(connectionFlushes.map((flush) => flush()))
      const known = await consents.list(playerId)
      // A hosted game may have moved since its creation, so the link goes to its current address.
      const homes = await apps.homesOf(known.map(({ clientId }) => clientId))
      const games = known.map((game) => ({ ...game, homepageUrl: homes.get(game.clientId) ?? game.homepageUrl }))
      return renderPage(reply, {
        title: 'Connected games and programs',
        current: '/settings',
        user: viewer,
        flash: request.query.done === 'revoked' ? { message: 'It no longer has access.' } : null,
        body: ConnectedPage({
          entries: settings,
          games,
          resources,
          sections: connectedSections.map((section) => section()),
        }),
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
