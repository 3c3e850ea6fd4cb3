import type { Server } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { StartupError } from '../errors.ts'
import type { Origins } from './origins.ts'

/**
 * One port for each game, for networks without wildcard names (`games.origins: port`). Every port leads to the same
 * app; the Host header selects the game, as it does with names. The ports close with the app (core/http/shutdown.ts).
 */
export class GamePorts {
  readonly #app: FastifyInstance
  readonly #origins: Origins
  readonly #servers = new Map<number, Server>()
  #listening = false

  constructor(app: FastifyInstance, origins: Origins) {
    this.#app = app
    this.#origins = origins
  }

  /** The servers that listen. */
  get servers(): Server[] {
    return [...this.#servers.values()]
  }

  /**
   * Opens the ports of the existing games. The code that lets the app listen calls it; in a Fastify hook the error
   * would be swallowed.
   *
   * @throws StartupError when another program has one of them
   */
  async listen(): Promise<void> {
    this.#listening = true
    for (const port of this.#origins.gamePorts()) await this.#listen(port)
  }

  /**
   * Opens the port of a game at once or, before the start, when the app listens.
   *
   * @throws StartupError when another program uses the port; the game then does not get it
   */
  async assign(slug: string, port: number): Promise<void> {
    if (this.#listening) await this.#listen(port)
    this.#origins.assignPort(slug, port)
  }

  async #listen(port: number): Promise<void> {
    if (this.#servers.has(port)) return
    const { host } = this.#app.config.listen
    const server = this.#app.fastPath.createServer((request, response) => this.#app.routing(request, response))
    server.on('clientError', (error, socket) => this.#app.connections.answerClientError(error, socket))
    // @fastify/websocket listens on the app's own server. Without it Node answers an upgrade as any other request.
    if (this.#app.server.listenerCount('upgrade') > 0) {
      server.on('upgrade', (...upgrade) => this.#app.server.emit('upgrade', ...upgrade))
    }
    await this.#app.ports.listen(server, { port, host }).catch((error: NodeJS.ErrnoException) => {
      throw gamePortProblem(port, error)
    })
    this.#servers.set(port, server)
  }
}

/** Explains why the port of a game can't be opened. */
export const gamePortProblem = (port: number, { code }: NodeJS.ErrnoException): StartupError =>
  new StartupError(`Port ${port}, which belongs to a game, can't be opened (${code}); free it and start again.`)
