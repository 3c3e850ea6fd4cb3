import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { OAuthClient } from '../apps/client.ts'
import type { PageOrigins } from '../apps/page-origins.ts'

/**
 * Allows a page to read the response to its call, errors included, when the page's origin is one of the redirect URIs
 * of the public client that the call names. The route sends `Vary: Origin` in every case.
 */
export function allowPageOf(
  client: OAuthClient,
  pages: PageOrigins,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const { origin } = request.headers
  if (origin === undefined || !pages.includes(client, origin)) return
  reply
    .header('access-control-allow-origin', origin)
    .header('access-control-expose-headers', 'www-authenticate, retry-after')
}

/**
 * Answers preflights (Fetch standard). They name no client yet, so an origin of any public client is allowed, and the
 * response to the call itself decides.
 */
export function answerPreflights(app: FastifyInstance, url: string): void {
  app.options(
    url,
    { config: { auth: 'none' }, constraints: { origin: 'portal' }, schema: { hide: true } },
    async (request, reply) => {
      reply.code(204).header('vary', 'Origin')
      const { origin } = request.headers
      if (origin !== undefined && (await app.identity.pageOrigins.isKnown(origin))) {
        reply
          .header('access-control-allow-origin', origin)
          .header('access-control-allow-methods', 'POST')
          .header('access-control-allow-headers', 'authorization, content-type')
          .header('access-control-max-age', '86400')
      }
      return reply.send()
    },
  )
}
