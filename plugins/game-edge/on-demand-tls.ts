import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import { NotFound } from '../../core/errors.ts'
import type { Routes } from '../../core/http/routes.ts'

/**
 * The rate limit is far above the needs of a proxy that stores its certificates, and far below a load on the database.
 */
const ASKED_A_MINUTE = 3000

/**
 * `GET /__service/tls?domain=`: whether a proxy in front may request a certificate for a name (Caddy's
 * `on_demand_tls`). It answers at every Host, since the proxy uses an address, and reveals nothing that a visit would
 * not reveal.
 */
export const certificateRoutes: Routes = async (app) => {
  app.get(
    '/__service/tls',
    {
      config: { auth: 'none', quiet: true },
      constraints: { origin: 'any' },
      schema: { hide: true, querystring: Type.Object({ domain: Type.String({ maxLength: 255 }) }) },
    },
    async (request, reply) => {
      await app.rateLimiter.take(`tls/${request.ip}`, ASKED_A_MINUTE, 60_000)
      const { domain } = request.query
      if (!(await isOurs(app, domain.toLowerCase()))) throw new NotFound('site')
      return reply.header('cache-control', 'no-store').send({ domain })
    },
  )
}

/**
 * Whether the platform serves a name: the portal, the Studio, the domain of the games, an existing game, its previews, its former names and its
 * verified domains, and the former addresses of all of these.
 */
async function isOurs({ origins, games, deploys }: FastifyInstance, domain: string): Promise<boolean> {
  const site = origins.named(domain)
  if (site.kind === 'portal' || site.kind === 'studio' || site.kind === 'alias') return true
  if (site.kind === 'former') return site.slug === null || isGame({ games }, site.slug)
  if (site.kind !== 'game') return false
  const game = await games.bySlug(site.slug)
  // Only existing previews count, because clients can invent any number of preview names.
  if (game && site.preview !== null) return (await deploys.manifests.byPreview(game.id, site.preview)) !== null
  return game !== null || isGame({ games }, site.slug)
}

const isGame = async ({ games }: Pick<FastifyInstance, 'games'>, slug: string): Promise<boolean> =>
  ((await games.bySlug(slug)) ?? (await games.movedFrom(slug))) !== null
