import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { pathOf } from '../record.ts'

const OF_A_GAME = /^\/games\/:slug(\/|$)/

/**
 * Makes every page of a game redirect from a former address of the game to the same page at its current one, with the
 * query. It counts for the routes that are registered later, also by other plugins. A viewer who may not see the game
 * gets 404 as for an address that no game ever had.
 */
export function redirectFormerAddresses(app: FastifyInstance): void {
  const redirect = async (request: FastifyRequest, reply: FastifyReply) => {
    const { slug } = request.params as { slug: string }
    const moved = (await app.games.bySlug(slug)) ? null : await app.games.movedFrom(slug)
    const viewerId = request.principal?.viewer?.id ?? null
    if (!moved || !(app.games.isShown(moved) || app.games.may(viewerId, moved, 'test'))) return
    return reply.redirect(request.url.replace(/^\/games\/[^/?]*/, pathOf(moved)), 302)
  }
  app.addHook('onRoute', (route) => {
    // Fastify adds a HEAD route for each GET route, with a call of its own.
    if (!/^(GET|HEAD)$/.test(String(route.method)) || !OF_A_GAME.test(route.url)) return
    // It follows the check that identifies the caller, and precedes those that find no game at the address.
    route.onRequest = [route.onRequest ?? []].flat().toSpliced(1, 0, redirect)
  })
}
