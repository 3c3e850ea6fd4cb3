import { createServer, type Server } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { StartupError } from './errors.ts'
import type { Origins } from './origins.ts'
import { PARSER_OPTIONS } from './request-rules.ts'

/**
 * A port for each game, for networks without wildcard names (`games.origins: port`). Every port leads to the same app;
 * which game is meant follows from the Host header, as with names.
 */
export class GamePorts {
  readonly #app: FastifyInstance
  readonly #origins: Origins
  readonly #servers = new Map<number, Server>()
  #listening = false

  constructor(app: FastifyInstance, origins: Origins) {
    this.#app = app
    this.#origins = origins
    app.addHook('onListen', async () => {
      this.#listening = true
      for (const port of this.#origins.gamePorts()) await this.#listen(port)
    })
    app.addHook('preClose', async () => {
      for (const server of this.#servers.values()) {
        server.close()
        server.closeIdleConnections()
      }
    })
    app.addHook('onClose', async () => {
      for (const server of this.#servers.values()) server.closeAllConnections()
    })
  }

  /**
   * Gives a game its port, from now on or, before the start, from the start on.
   *
   * @throws StartupError when another program has the port
   */
  async assign(slug: string, port: number): Promise<void> {
    this.#origins.assignPort(slug, port)
    if (this.#listening) await this.#listen(port)
  }

  async #listen(port: number): Promise<void> {
    if (this.#servers.has(port)) return
    const { host } = this.#app.config.listen
    const server = createServer(
      { ...PARSER_OPTIONS.http, keepAliveTimeout: PARSER_OPTIONS.keepAliveTimeout },
      (request, response) => this.#app.routing(request, response),
    )
    // @fastify/websocket listens on the app's own server.
    server.on('upgrade', (...upgrade) => this.#app.server.emit('upgrade', ...upgrade))
    this.#servers.set(port, server)
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, host, resolve)
    }).catch((error: NodeJS.ErrnoException) => {
      this.#servers.delete(port)
      throw new StartupError(
        `Port ${port}, which belongs to a game, can't be opened (${error.code}); free it and start again.`,
      )
    })
  }
}
