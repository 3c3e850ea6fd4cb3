import type { Routes } from '../../core/routes.ts'
import { refuseServiceWorker } from './edge.ts'

/** Short, since the address stays the same when the script changes; the entity tag makes asking again cheap. */
export const SCRIPT_CACHE = 'public, max-age=300, must-revalidate'

/** `/__service/auth-widget.js`, the sign-in widget that is put into the pages of games. */
export const scriptRoutes: Routes = async (app) => {
  app.addHook('onRequest', refuseServiceWorker)
  app.get(
    '/__service/auth-widget.js',
    { config: { auth: 'none', quiet: true }, constraints: { origin: 'game' }, schema: { hide: true } },
    async (request, reply) => {
      reply.header('cross-origin-resource-policy', 'same-origin')
      reply.header('x-content-type-options', 'nosniff')
      return app.browserFiles.send(request, reply, 'auth-widget.js', SCRIPT_CACHE)
    },
  )
}
