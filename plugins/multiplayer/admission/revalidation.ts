import type { FastifyInstance } from 'fastify'
import type { Game } from '../../games/index.ts'
import type { Connection, Connections, EndReason } from '../connections.ts'

/**
 * Revalidates the admission of open room sockets when a game or an application changes, and closes those that would no
 * longer be admitted. It repeats the checks of `admit` on the game: it exists, is not suspended, has rooms, admits
 * guests, is visible to the player, and the player's OAuth application still exists. (`player.changed` covers the
 * player's account.)
 */
export class AdmissionRevalidation {
  readonly #app: Pick<FastifyInstance, 'games' | 'identity' | 'log'>
  readonly #connections: Connections
  /** Games whose check failed, for example while the database was unavailable. */
  readonly #pending = new Set<string>()
  #changes = 0

  constructor(app: Pick<FastifyInstance, 'games' | 'identity' | 'log'>, connections: Connections) {
    this.#app = app
    this.#connections = connections
  }

  /** The number of changes so far. A socket admitted under a smaller number is checked once it is open. */
  get changes(): number {
    return this.#changes
  }

  /** Handles a changed, removed or permanently deleted game. */
  async gameChanged(gameId: string): Promise<void> {
    this.#changes++
    await this.recheck(gameId)
  }

  /** Handles a changed or deleted application. */
  async appChanged(clientId: string): Promise<void> {
    this.#changes++
    for (const gameId of this.#connections.gamesOf(clientId)) await this.recheck(gameId)
  }

  /** Checks all sockets of one game on this node against the database. */
  async recheck(gameId: string): Promise<void> {
    const sockets = this.#connections.inGame(gameId)
    if (sockets.size === 0) return
    try {
      const game = await this.#app.games.byId(gameId)
      const app = game && (await this.#app.identity.apps.find(game.clientId))
      // The loop uses a copy, because closed sockets are removed from the set.
      for (const connection of [...this.#connections.inGame(gameId)]) {
        const reason = this.#refusal(connection, game, app?.clientId ?? null)
        if (reason) connection.end(reason)
      }
      this.#pending.delete(gameId)
    } catch (error) {
      this.#pending.add(gameId)
      this.#app.log.warn({ err: error, gameId }, 'the admission of a game could not be checked; it will be tried again')
    }
  }

  /** Repeats the failed checks. It is called every second. */
  async retry(): Promise<void> {
    for (const gameId of [...this.#pending]) {
      this.#pending.delete(gameId)
      await this.recheck(gameId)
    }
  }

  #refusal({ account, clientId }: Connection, game: Game | null, appId: string | null): EndReason | null {
    if (game?.suspended) return 'suspended'
    if (!game) return 'gone'
    if (!game.settings.multiplayer.enabled) return 'closed'
    if (clientId === null && !game.settings.multiplayer.guests) return 'closed'
    if (!this.#app.games.visibleTo(account, game)) return 'closed'
    return clientId !== null && clientId !== appId ? 'signed_out' : null
  }
}
