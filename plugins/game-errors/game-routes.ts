import type { FastifyInstance, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { Forbidden } from '../../core/errors.ts'
import type { Routes } from '../../core/http/routes.ts'
import { isFromPageOf } from '../../core/origins/same-origin.ts'
import { isDraftId, liveSince } from '../deploy/index.ts'
import { refuseServiceWorker, serveScript } from '../game-edge/index.ts'
import type { Game } from '../games/index.ts'
import { browserName } from '../oauth-idp/index.ts'
import { REPORT_BYTES, Report } from './schemas.ts'

/** The script sends at most six reports a minute. */
const REPORTS_PER_MINUTE = 20

/** Errors in the pages of a game, on its own origin: the script that reports them, and its address. */
export const gameRoutes: Routes = async (app) => {
  app.addHook('onRequest', refuseServiceWorker)

  app.post(
    '/__service/errors',
    {
      config: { auth: 'none', rateLimit: { max: REPORTS_PER_MINUTE, timeWindow: 60_000 }, quiet: true },
      constraints: { origin: 'game' },
      bodyLimit: REPORT_BYTES,
      schema: {
        summary: 'Report exceptions in a page of the game',
        description: 'Only for pages of the game itself: the script `/__service/errors.js` does it.',
        tags: ['games'],
        body: Report,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { game, isPreview } = await app.edge.gameOfPage(request)
      if (!isFromPageOf(request.headers, app.edge.originOf(request)))
        throw new Forbidden('Only pages of the game itself report its errors.')
      const { errors, age } = request.body
      const deployId = isPreview ? await previewOf(app, request, game) : await deployOf(app, game, age)
      // The editor shows the errors of a draft beside it.
      if (deployId !== null && isDraftId(deployId)) return reply.code(204).send(null)
      const browser = browserName(String(request.headers['user-agent'] ?? ''))
      app.gameErrors.add({ gameId: game.id, deployId, browser }, errors)
      return reply.code(204).send(null)
    },
  )

  serveScript(app, 'errors.js')
}

async function previewOf(app: FastifyInstance, request: FastifyRequest, { id }: Game): Promise<string | null> {
  const site = app.origins.of(request.raw)
  return site.kind === 'game' && site.preview !== null ? app.deploys.manifests.byPreview(id, site.preview) : null
}

/** Returns the deploy of a page that was loaded some time ago; null for a page of a version before the live one. */
async function deployOf({ db, clock }: FastifyInstance, { liveDeployId }: Game, age: number) {
  if (liveDeployId === null) return null
  const since = await liveSince(db, liveDeployId)
  return since !== null && clock.now().getTime() - age >= since.getTime() ? liveDeployId : null
}
