import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { NotFound } from '../../../core/errors.ts'
import { cacheControl, matchesEtag } from '../../../core/http/headers.ts'
import type { Routes } from '../../../core/http/routes.ts'
import type { Cards } from './cards.ts'

const open = { config: { auth: 'none' }, constraints: { origin: 'portal' } } as const
const Version = Type.Object({ v: Type.Optional(Type.String({ maxLength: 30 })) })

/**
 * The preview images of shared links. Only public games have one; the response for a private game does not reveal it.
 */
export const cardRoutes: Routes = async (app) => {
  const { cards } = app.games

  const send = async (request: FastifyRequest, reply: FastifyReply, card: ReturnType<Cards['ofSite']>) => {
    const etag = `"${card.key}"`
    const { v } = request.query as { v?: string }
    // The address in pages changes with the card. Without that part of the address, caches revalidate each time.
    reply.header('cache-control', v === card.key ? cacheControl.immutable : cacheControl.revalidate)
    reply.header('etag', etag)
    reply.header('cross-origin-resource-policy', 'cross-origin')
    if (matchesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send()
    return reply.type('image/png').send(await cards.png(card))
  }

  app.get(
    '/games/:slug/card.png',
    {
      ...open,
      schema: { hide: true, params: Type.Object({ slug: Type.String({ maxLength: 63 }) }), querystring: Version },
    },
    async (request, reply) => {
      const game = await app.games.bySlug(request.params.slug)
      if (!game || !app.games.isShown(game)) throw new NotFound('game')
      return send(request, reply, cards.ofGame(game))
    },
  )

  app.get('/card.png', { ...open, schema: { hide: true, querystring: Version } }, async (request, reply) =>
    send(request, reply, cards.ofSite()),
  )
}
