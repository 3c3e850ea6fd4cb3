import { once } from 'node:events'
import type { Server } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { Health } from '../observe/health.ts'

/**
 * Makes `app.close()` end in time: readiness turns away first, idle connections close at once, requests may finish,
 * and what still hangs shortly before the deadline (a trickling upload, a stuck handler) is cut off. Fastify alone
 * would wait for it for ever. Room sockets are told to reconnect by the plugin that owns them, in its own `preClose`.
 *
 * Called after the hooks that end what requests stand on: Fastify runs `onClose` hooks in the reverse order, and the
 * ports beside the first one are waited for here.
 */
export function installShutdown(app: FastifyInstance, health: Health, seconds: number): void {
  let ended: Promise<unknown> = Promise.resolve()
  let idle: NodeJS.Timeout | undefined
  let cut: NodeJS.Timeout | undefined

  app.addHook('preClose', (done) => {
    health.draining = true
    app.fastPath.end()
    const others = [...app.gamePorts.servers, ...app.httpsRedirects.servers]
    const servers: Server[] = [app.server, ...others]
    idle = setInterval(() => {
      for (const server of servers) server.closeIdleConnections()
    }, 100)
    cut = setTimeout(() => {
      app.log.warn('closing connections of requests that did not finish in time')
      for (const server of servers) server.closeAllConnections()
    }, seconds * 800)
    ended = Promise.all(others.map((server) => once(server, 'close')))
    for (const server of others) server.close()
    done()
  })
  // Fastify has closed its own server by now.
  app.addHook('onClose', async () => {
    await ended
    clearInterval(idle)
    clearTimeout(cut)
  })
}
