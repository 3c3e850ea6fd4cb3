import type { FastifyInstance } from 'fastify'
import type { FastPathHandler } from '../../../core/http/fast-path.ts'
import type { Files } from './files.ts'
import { countPlay, opensGame } from './plays.ts'
import type { Sites } from './sites.ts'

/**
 * The fast path of the static files' route (core/http/fast-path.ts), for a public game whose site and file are in
 * memory. Other requests (an escape in the address, a session, a body) go to the route.
 */
export function fastPathHandler(app: FastifyInstance, sites: Sites, files: Files): FastPathHandler {
  const { origins } = app
  // Behind a proxy only Fastify determines the client's address, which counting requires.
  const counts = !app.config.trustProxy
  return (request, response) => {
    const { method, url = '' } = request
    if (method !== 'GET' && method !== 'HEAD') return false
    const origin = origins.of(request)
    if (origin.kind !== 'game' || origin.preview !== null || origins.movesTo(origin) !== null) return false
    const site = sites.peek(origin.slug)
    if (!site || !app.games.isShown(site.game) || !site.game.playable) return false
    const { headers } = request
    if (headers.upgrade !== undefined || headers['content-length'] !== undefined) return false
    if (headers['transfer-encoding'] !== undefined || headers['service-worker'] !== undefined) return false
    const query = url.indexOf('?')
    const path = query === -1 ? url : url.slice(0, query)
    if (path.includes('%')) return false
    const form = files.hot(site, path, request)
    if (!form) return false
    const inherited = sites.peekInherits(origin, site)
    if (inherited === undefined || (inherited && form.isDocument)) return false
    const opens = form.isDocument && opensGame(request)
    if (opens && !counts) return false
    files.sendHot(form, request, response)
    if (opens) countPlay(app, site.game, request, request.socket.remoteAddress ?? '')
    return true
  }
}
