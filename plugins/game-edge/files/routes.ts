import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Blobs } from '../../../core/disk-cache.ts'
import { NotFound } from '../../../core/errors.ts'
import { cacheControl } from '../../../core/http.ts'
import type { Routes } from '../../../core/routes.ts'
import { refuseServiceWorker } from '../edge.ts'
import { emptyGamePage, noGamePage, sendNotFoundPage } from '../pages.ts'
import { Files, find } from './files.ts'
import { HotFiles } from './hot-files.ts'
import { firstLook } from './look.ts'
import { clearLeftovers } from './owners.ts'
import { isReserved, manifestPath, pathIsReserved } from './paths.ts'
import { countPlay, opensGame } from './plays.ts'
import { Sites } from './sites.ts'

/**
 * Every path of a game's origin that is not the platform's own: the game's static files.
 *
 * @param blobs where their bytes are read; @param cacheBytes memory for those that are asked for often
 */
export const fileRoutes =
  (blobs: Blobs, cacheBytes: number): Routes =>
  async (app) => {
    const hot = new HotFiles(cacheBytes)
    const sites = new Sites(app, hot)
    const files = new Files(app.log, blobs, hot)
    app.firstLooks.install('/*', firstLook(app, sites, files))

    app.get(
      '/*',
      {
        config: { auth: 'none', quiet: true, serves: (path) => !pathIsReserved(path) },
        constraints: { origin: 'game' },
        schema: { hide: true },
      },
      async (request, reply) => {
        const path = manifestPath(request.raw.url as string)
        if (isReserved(path)) {
          await refuseServiceWorker(request)
          throw new NotFound('address')
        }
        const origin = app.origins.of(request.raw)
        if (origin.kind !== 'game') throw new NotFound('game')
        const site = await sites.get(origin.slug, origin.preview)
        const game = site?.game ?? (await app.edge.namedBy(request))
        if (!game || !(await app.edge.mayEnter(request, game))) {
          const moved = game ? null : await app.games.movedFrom(origin.slug)
          if (moved && app.games.visibleTo(null, moved)) return toMoved(app.origins.game(moved.slug), request, reply)
          return sendNotFoundPage(reply, noGamePage(app.origins.portal))
        }
        // Also where it only leads on: a service worker of the former game would stand before that.
        if (site && (await sites.inherits(origin, site))) {
          clearLeftovers(request.raw, reply.raw, { game, host: origin.host, secure: app.origins.secure })
        }
        const elsewhere = app.origins.movesTo(origin)
        if (elsewhere !== null) return toMoved(elsewhere, request, reply)
        if (!site) return sendNotFoundPage(reply, emptyGamePage(game.title, game.manageUrl))
        const found = find(site, path)
        if (found.kind === 'folder') return toFolder(request, reply)
        const isDocument = await files.send(site, found, request.raw, reply)
        if (isDocument && !site.preview && opensGame(request.raw)) countPlay(app, game, request.raw, request.ip)
        return reply
      },
    )
  }

/** For ninety days only, or until its owner wants it otherwise, so no browser may keep it. */
function toMoved(origin: string, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.header('cache-control', 'no-store')
  return reply.redirect(origin + request.raw.url, 302)
}

/** For this deploy only: the next may have a file of that name. */
function toFolder(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const [path = '', query] = (request.raw.url as string).split(/\?(.*)/s)
  reply.header('cache-control', cacheControl.document)
  return reply.redirect(`${path}/${query === undefined ? '' : `?${query}`}`, 302)
}
