import type { FastifyInstance } from 'fastify'
import type { Health } from './health.ts'

/**
 * Makes `app.close()` end in time: readiness turns away first, idle connections close at once, requests may finish,
 * and what still hangs shortly before the deadline (a trickling upload, a stuck handler) is cut off. Fastify alone
 * would wait for it for ever. Room sockets are told to reconnect by the plugin that owns them, in its own `preClose`.
 */
export function installShutdown(app: FastifyInstance, health: Health, seconds: number): void {
  app.addHook('preClose', (done) => {
    health.draining = true
    const { server } = app
    const idle = setInterval(() => server.closeIdleConnections(), 100)
    const cut = setTimeout(() => {
      app.log.warn('requests that did not finish in time are cut off')
      server.closeAllConnections()
    }, seconds * 800)
    server.once('close', () => {
      clearInterval(idle)
      clearTimeout(cut)
    })
    idle.unref()
    cut.unref()
    done()
  })
}
