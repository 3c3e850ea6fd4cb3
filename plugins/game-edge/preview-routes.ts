import Type from 'typebox'
import { NotFound } from '../../core/errors.ts'
import { callerOf } from '../../core/http/auth.ts'
import type { Routes } from '../../core/http/routes.ts'
import { refuseServiceWorker } from './edge.ts'

/** Redirects from the portal, which knows the caller, to the preview's own address. */
export const previewRoutes: Routes = async (app) => {
  app.get(
    '/games/:slug/deploys/:deployId/preview',
    {
      config: { auth: 'session', page: true },
      constraints: { origin: 'portal' },
      schema: {
        hide: true,
        params: Type.Object({ slug: Type.String({ maxLength: 63 }), deployId: Type.String({ maxLength: 30 }) }),
      },
    },
    async (request, reply) => {
      const { playerId } = callerOf(request)
      const { game, url } = await app.deploys.preview(playerId, request.params.deployId)
      if (game.slug !== request.params.slug && game.id !== request.params.slug) throw new NotFound('preview')
      reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
      const isPublic = app.games.visibleTo(null, game)
      return reply.redirect(isPublic ? `${url}/` : await app.edge.previews.link(url, game, playerId), 303)
    },
  )

  app.get(
    '/auth/service/preview',
    {
      config: { auth: 'none' },
      constraints: { origin: 'game' },
      onRequest: refuseServiceWorker,
      schema: { hide: true, querystring: Type.Object({ pass: Type.Optional(Type.String({ maxLength: 4096 })) }) },
    },
    async (request, reply) => {
      const site = app.origins.of(request.raw)
      const isPreview = site.kind === 'game' && site.preview !== null
      const { pass } = request.query
      const cookie = isPreview && pass ? await app.edge.previews.take(request.raw, site.host, pass) : null
      // The response is that of a missing preview, so that the preview's existence stays hidden.
      if (!cookie) throw new NotFound('preview')
      reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer', 'set-cookie': cookie })
      return reply.redirect('/', 303)
    },
  )
}
