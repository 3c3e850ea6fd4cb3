import type { Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
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
    app.gamePorts.stop()
    const servers = serversOf(app)
    // Fastify closes the app's own server, if it has opened it.
    const others = app.ports.shared ? servers : servers.slice(1)
    idle = setInterval(() => {
      for (const server of servers) server.closeIdleConnections()
    }, 100)
    cut = setTimeout(() => {
      app.log.warn('closing connections of requests that did not finish in time')
      for (const server of servers) server.closeAllConnections()
    }, seconds * 800)
    ended = Promise.all(others.map((server) => app.ports.close(server)))
    done()
  })
  // Fastify has closed its own server before this hook.
  app.addHook('onClose', async () => {
    await ended
    clearInterval(idle)
    clearTimeout(cut)
  })
}

/** The interval of looking whether all connections have ended. */
const LOOK_MS = 50

/**
 * Lets a process leave whose place another has taken, without a failed request: it takes no new connections, and each
 * connection ends with its next response. A client that sends nothing meanwhile loses its connection afterwards, as at
 * the end of any idle time.
 *
 * @param seconds maximum time; `app.close()` comes after it
 */
export async function leaveConnections(app: FastifyInstance, seconds: number): Promise<void> {
  app.ports.stopAccepting()
  app.fastPath.endConnections()
  const until = performance.now() + seconds * 1000
  while (performance.now() < until && app.ports.connections > 0) await sleep(LOOK_MS)
}

const serversOf = (app: FastifyInstance): Server[] => [
  app.server,
  ...app.gamePorts.servers,
  ...app.httpsRedirects.servers,
]
