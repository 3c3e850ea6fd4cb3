import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import { NotFound } from '../../core/errors.ts'
import type { Routes } from '../../core/http/routes.ts'

/** Far above what a proxy asks that remembers its certificates, far below what would keep the database busy. */
const ASKED_A_MINUTE = 3000

/**
 * `GET /__service/tls?domain=`: whether a proxy in front may get a certificate for a name (Caddy's `on_demand_tls`).
 * Answers at every Host, since the proxy asks by address, and tells nothing that a visit would not tell.
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
 * The portal, the Studio, a game that is there, its previews, the names that it had and those that its owner proved, and
 * the addresses that all of them had before.
 */
async function isOurs({ origins, games, deploys }: FastifyInstance, domain: string): Promise<boolean> {
  const site = origins.named(domain)
  if (site.kind === 'portal' || site.kind === 'studio') return true
  if (site.kind === 'former') return site.slug === null || isGame({ games }, site.slug)
  if (site.kind !== 'game') return false
  const game = await games.bySlug(site.slug)
  // Not for any name that could be a preview's: those can be made up without end.
  if (game && site.preview !== null) return (await deploys.byPreview(game.id, site.preview)) !== null
  return game !== null || isGame({ games }, site.slug)
}

const isGame = async ({ games }: Pick<FastifyInstance, 'games'>, slug: string): Promise<boolean> =>
  ((await games.bySlug(slug)) ?? (await games.movedFrom(slug))) !== null
