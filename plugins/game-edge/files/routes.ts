import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { printablePath } from '../../../core/data/file-path.ts'
import { NotFound } from '../../../core/errors.ts'
import { cacheControl } from '../../../core/http/headers.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { carriesDigest } from '../../deploy/index.ts'
import { refuseServiceWorker } from '../edge.ts'
import { closedPage, emptyGamePage, noGamePage, sendPage, suspendedPage } from '../pages.ts'
import type { GameEdgeConfig } from '../schemas.ts'
import { mayBeFramed } from '../sign-in/cookies.ts'
import type { GameBlobs } from './blobs.ts'
import { DerivedFiles } from './derived-files.ts'
import { fastPathHandler } from './fast-path.ts'
import { Files, find } from './files.ts'
import { HotFiles } from './hot-files.ts'
import { isPartOfPage } from './part-of-page.ts'
import { isReserved, manifestPath, mergeSlashes, pathIsReserved } from './paths.ts'
import { countPlay, opensGame } from './plays.ts'
import { ISOLATED } from './representation.ts'
import { clearFormerData } from './site-owners.ts'
import { type LiveSite, Sites } from './sites.ts'

/**
 * The game's static files: every path of a game's origin that is not reserved for the platform.
 *
 * @param blobs the source of their bytes
 * @param cacheBytes memory for frequently requested files; `diskCacheBytes`: disk space for derived ones
 */
export const fileRoutes =
  (blobs: GameBlobs, { cacheBytes, diskCacheBytes }: GameEdgeConfig): Routes =>
  async (app) => {
    const hot = new HotFiles(cacheBytes)
    const sites = new Sites(app, hot)
    const frameTag = (place = '') =>
      `<script src="${app.edge.script('frame-session.js')}" data-portal="${app.origins.portal}"${place}></script>`
    const draftTag = () =>
      `<script src="${app.edge.script('draft-console.js')}" data-portal="${app.origins.portal}"></script>`
    const derived = new DerivedFiles(blobs, diskCacheBytes)
    const files = new Files(app.log, { blobs, derived, hot, frameTag, draftTag, secure: app.origins.secure })
    app.fastPath.install('/*', fastPathHandler(app, sites, files))

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
          if (moved && app.games.isShown(moved)) return toMoved(app.origins.game(moved.slug), request, reply)
          const script = mayBeFramed(request.raw, app.origins.secure) ? frameTag(' data-place="private"') : ''
          return sendPage(reply, noGamePage(app.origins.portal, script))
        }
        if (game.suspended) return sendPage(reply, suspendedPage(app.origins.portal), 451)
        if (!game.playable && origin.preview === null) return sendPage(reply, closedPage(game.title, game.manageUrl))
        // Redirects clear the data too, because a service worker of the former game would intercept the next address.
        if (site && (await sites.inherits(origin, site))) {
          clearFormerData(request.raw, reply.raw, { game, host: origin.host, origins: app.origins })
        }
        const elsewhere = app.origins.movesTo(origin)
        if (elsewhere !== null) return toMoved(elsewhere, request, reply)
        if (!site) return sendPage(reply, emptyGamePage(game.title, game.manageUrl))
        const found = find(site, path)
        if (found.kind === 'folder') return toFolder(request, reply, site)
        const former = found.isFallback && !site.preview ? await formerFile(app, site, path) : null
        if (found.isFallback && !former && isPartOfPage(request.headers, path)) return noSuchFile(reply, path)
        const isDocument = await files.send(site, former ?? found, request.raw, reply)
        if (isDocument && !site.preview && opensGame(request.raw)) countPlay(app, game, request.raw, request.ip)
        return reply
      },
    )
  }

/**
 * A page in the place of a script or a picture would hide that its file is not there. Browsers ask for `/favicon.ico`
 * unasked, so a build that lacks it has no fault that the console should name.
 */
function noSuchFile(reply: FastifyReply, path: string): FastifyReply {
  reply.headers({ 'cache-control': 'no-store', vary: 'sec-fetch-dest', 'x-content-type-options': 'nosniff' })
  if (path === 'favicon.ico') return reply.code(204).send()
  return reply
    .code(404)
    .type('text/plain; charset=utf-8')
    .send(`This build has no file ${printablePath(path)}.\n`)
}

/** Returns a file with a digest in its name that an open page still asks for, after a deploy without it. */
async function formerFile(app: FastifyInstance, { game }: LiveSite, path: string) {
  if (!carriesDigest(path)) return null
  for (const manifest of await app.deploys.served.recent(game.id)) {
    const file = manifest.get(path)
    if (file && !file.roomScript) return { name: path, file, former: true }
  }
  return null
}

/** The redirect lasts ninety days at most, and its owner may change it, so browsers must not cache it. */
function toMoved(origin: string, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.header('cache-control', 'no-store')
  return reply.redirect(origin + request.raw.url, 302)
}

/** The redirect holds only for this deploy, since the next may have a file of that name. */
function toFolder(request: FastifyRequest, reply: FastifyReply, { isolated }: LiveSite): FastifyReply {
  const [path = '', query] = (request.raw.url as string).split(/\?(.*)/s)
  reply.header('cache-control', cacheControl.document)
  // In a frame of an isolated page, every redirect requires these headers.
  if (isolated) reply.headers(ISOLATED)
  return reply.redirect(`${mergeSlashes(path)}/${query === undefined ? '' : `?${query}`}`, 302)
}
