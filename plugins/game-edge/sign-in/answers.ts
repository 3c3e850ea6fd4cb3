import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { toPlatformError } from '../../../core/http/error-handler.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { refuseServiceWorker } from '../edge.ts'
import { sendPage, signInFailedPage } from '../pages.ts'
import { isFramed } from './cookies.ts'
import { gamePath } from './game-path.ts'

/** The common options of all sign-in routes of a game's origin. */
export const shared = { config: { auth: 'none' }, constraints: { origin: 'game' } } as const

/** Programs call this route, but browsers never navigate to it. */
const SESSION = '/auth/service/session'

/**
 * Sets the responses of sign-in routes: they are not cached and send no referrer, and errors have the form that the
 * client reads. A frame shows the game, signed out; a window shows a page; programs read JSON.
 */
export function installAnswers(app: Parameters<Routes>[0]): void {
  app.addHook('onRequest', refuseServiceWorker)
  app.addHook('onRequest', async (_request, reply) => {
    reply.headers({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      // An isolated play page frames the start of a sign-in. Without CORP every redirect and every refusal would be an
      // error page there, in WebKit also without COEP.
      'cross-origin-resource-policy': 'cross-origin',
      'cross-origin-embedder-policy': 'require-corp',
    })
  })
  app.setErrorHandler((error: FastifyError, request, reply) => {
    if (!goesToBrowser(request)) throw error
    const known = toPlatformError(error, request)
    if (known.statusCode >= 500) request.log.error({ err: error }, 'a sign-in failed')
    return sendToGame(app, request, reply) ?? sendPage(reply, signInFailedPage(known.message), known.statusCode)
  })
}

const goesToBrowser = (request: FastifyRequest): boolean =>
  request.routeOptions.url !== SESSION && (isFramed(request.raw) || /\btext\/html\b/.test(request.headers.accept ?? ''))

/**
 * In a frame, every error returns to the game. If the browser does not tell whether it is a frame, routes that only
 * frames use count as framed.
 */
function sendToGame(app: Parameters<Routes>[0], request: FastifyRequest, reply: FastifyReply): FastifyReply | null {
  if (!isFramed(request.raw) && request.routeOptions.url !== '/auth/service/embed') return null
  const { returnTo } = request.query as { returnTo?: unknown }
  return reply.redirect(gamePath(returnTo, app.edge.originOf(request)), 303)
}
