import Type from 'typebox'
import { cacheControl, matchesEtag } from '../../../core/http/headers.ts'
import type { Routes } from '../../../core/http/routes.ts'

/** `/avatars/{playerId}` always returns a picture. Games show it on their own pages, including isolated ones. */
export const avatarRoutes: Routes = async (app) => {
  app.get(
    '/avatars/:playerId',
    {
      config: { auth: 'none', quiet: true, rateLimit: false },
      constraints: { origin: 'portal' },
      schema: {
        hide: true,
        params: Type.Object({
          playerId: Type.String({ pattern: '^ply_[0-9A-Za-z]{26}$', advice: 'Use the id of a player.' }),
        }),
        querystring: Type.Object({ v: Type.Optional(Type.String()) }),
      },
    },
    async (request, reply) => {
      const { digest, contentType, bytes } = await app.identity.avatars.get(request.params.playerId)
      const etag = `"${digest.slice(0, 32)}"`
      const { v } = request.query
      reply.headers({
        etag,
        'cache-control': v && digest.startsWith(v) && v.length >= 12 ? cacheControl.immutable : 'public, max-age=300',
        'cross-origin-resource-policy': 'cross-origin',
        // Opened directly, the picture is a document of the portal, so it must not run or load anything.
        'content-security-policy': "default-src 'none'; sandbox",
        'x-content-type-options': 'nosniff',
      })
      if (matchesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send()
      return reply.type(contentType).send(bytes)
    },
  )
}
