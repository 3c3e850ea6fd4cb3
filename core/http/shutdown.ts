import { once } from 'node:events'
import type { Server } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { Health } from '../observe/health.ts'

/**
 * Bounds the time of `app.close()`. Readiness reports false first, idle connections close at once, requests may finish,
 * and shortly before the deadline the remaining ones (a trickling upload, a stuck handler) are cut off. Fastify alone
 * would wait for them without limit. The plugin that owns rooms tells their sockets to reconnect, in its own
 * `preClose`.
 *
 * Called after the hooks that close the dependencies of requests: Fastify runs `onClose` hooks in reverse order, and
 * this hook waits for the additional ports.
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
  // Fastify has closed its own server before this hook.
  app.addHook('onClose', async () => {
    await ended
    clearInterval(idle)
    clearTimeout(cut)
  })
}
