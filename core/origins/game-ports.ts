import type { Server } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { StartupError } from '../errors.ts'
import type { Origins } from './origins.ts'

/** The interval of trying again to open the ports that other programs have. */
const RETRY_MS = 3000

/**
 * One port for each game, for networks without wildcard names (`games.origins: port`). Every port leads to the same
 * app; the Host header selects the game, as it does with names. The ports close with the app (core/http/shutdown.ts).
 *
 * A port that another program has at the start delays only its game, which is served once the port is free.
 */
export class GamePorts {
  readonly #app: FastifyInstance
  readonly #origins: Origins
  readonly #servers = new Map<number, Server>()
  /** The ports that other programs have. */
  readonly #occupied = new Set<number>()
  #listening = false
  #stopped = false

  constructor(app: FastifyInstance, origins: Origins) {
    this.#app = app
    this.#origins = origins
  }

  /** The servers that listen. */
  get servers(): Server[] {
    return [...this.#servers.values()]
  }

  /**
   * Opens the ports of the existing games. The code that lets the app listen calls it. The log names each game whose
   * port another program has.
   */
  async listen(): Promise<void> {
    this.#listening = true
    for (const [port, slug] of this.#origins.gamePorts()) {
      await this.#listen(port, slug).catch(({ message }: Error) => {
        this.#occupied.add(port)
        this.#app.log.error({ slug, port }, `${message} The other games are served, and the port is tried again.`)
      })
    }
    this.#retryLater()
  }

  /** Opens no more ports. */
  stop(): void {
    this.#stopped = true
  }

  #retryLater(): void {
    if (this.#occupied.size > 0 && !this.#stopped) setTimeout(() => this.#retry(), RETRY_MS).unref()
  }

  async #retry(): Promise<void> {
    for (const [port, slug] of this.#origins.gamePorts()) {
      if (this.#stopped) return
      if (!this.#occupied.has(port)) continue
      const opened = await this.#listen(port, slug).then(
        () => true,
        () => false,
      )
      if (!opened) continue
      this.#occupied.delete(port)
      this.#app.log.info({ slug, port }, `port ${port} of the game ${slug} is open now`)
    }
    this.#retryLater()
  }

  /**
   * Opens the port of a game at once or, before the start, when the app listens.
   *
   * @throws StartupError when another program uses the port; the game then does not get it
   */
  async assign(slug: string, port: number): Promise<void> {
    if (this.#listening && !this.#occupied.has(port)) await this.#listen(port, slug)
    this.#origins.assignPort(slug, port)
  }

  async #listen(port: number, slug: string): Promise<void> {
    if (this.#servers.has(port)) return
    const { host } = this.#app.config.listen
    const server = this.#app.fastPath.createServer((request, response) => this.#app.routing(request, response))
    server.on('clientError', (error, socket) => this.#app.connections.answerClientError(error, socket))
    // @fastify/websocket listens on the app's own server. Without it Node answers an upgrade as any other request.
    if (this.#app.server.listenerCount('upgrade') > 0) {
      server.on('upgrade', (...upgrade) => this.#app.server.emit('upgrade', ...upgrade))
    }
    await this.#app.ports.listen(server, { port, host }).catch((error: NodeJS.ErrnoException) => {
      throw new StartupError(
        `Port ${port} of the game ${slug} can't be opened (${error.code}); another program may have it.`,
      )
    })
    if (this.#stopped) return this.#app.ports.close(server)
    this.#servers.set(port, server)
  }
}
