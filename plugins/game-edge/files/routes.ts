import { NotFound } from '../../../core/errors.ts'
import type { Routes } from '../../../core/routes.ts'
import { refuseServiceWorker } from '../edge.ts'
import { emptyGamePage, noGamePage, sendNotFoundPage } from '../pages.ts'
import { Files } from './files.ts'
import { isReserved, manifestPath } from './paths.ts'
import { Sites } from './sites.ts'

/** Every path of a game's origin that is not the platform's own: the game's static files. */
export const fileRoutes =
  (cacheBytes: number): Routes =>
  async (app) => {
    const sites = new Sites(app)
    const files = new Files(app, cacheBytes)

    app.get(
      '/*',
      {
        config: { auth: 'none', quiet: true },
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
        const site = origin.kind === 'game' && origin.preview === null ? await sites.get(origin.slug) : null
        const game = site?.game ?? (await app.edge.namedBy(request))
        if (!game || !(await app.edge.mayEnter(request, game))) {
          return sendNotFoundPage(reply, noGamePage(app.origins.portal))
        }
        if (!site) return sendNotFoundPage(reply, emptyGamePage(game.title, game.manageUrl))
        await files.send(site, path, request.raw, reply)
        return reply
      },
    )
  }
