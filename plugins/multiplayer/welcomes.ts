import type { FastifyInstance } from 'fastify'
import type { Game } from '../games/index.ts'
import type { Connection, Connections } from './connections.ts'

/**
 * Looks again at what let room sockets in, when it may have changed, and ends those that would not be let in any more.
 * All that `admit` asks of a game: that it is there, has rooms, takes guests, is visible to the player, and that the
 * application stands by which the player signed in. (The player's own standing is heard of by `player.changed`.)
 */
export class Welcomes {
  readonly #app: Pick<FastifyInstance, 'games' | 'identity' | 'log'>
  readonly #connections: Connections
  /** Games whose look failed, as while the database was away. */
  readonly #owed = new Set<string>()
  #changes = 0

  constructor(app: Pick<FastifyInstance, 'games' | 'identity' | 'log'>, connections: Connections) {
    this.#app = app
    this.#connections = connections
  }

  /** How many changes were heard of: whoever was let in under a smaller number has to be looked at once they are in. */
  get changes(): number {
    return this.#changes
  }

  /** A game was changed, removed, or is gone for good. */
  async gameChanged(gameId: string): Promise<void> {
    this.#changes++
    await this.look(gameId)
  }

  /** An application was changed, or is gone. */
  async appChanged(clientId: string): Promise<void> {
    this.#changes++
    for (const gameId of this.#connections.gamesOf(clientId)) await this.look(gameId)
  }

  /** Looks at one game as it stands in the database, and at all its sockets of this node. */
  async look(gameId: string): Promise<void> {
    const sockets = this.#connections.inGame(gameId)
    if (sockets.size === 0) return
    try {
      const game = await this.#app.games.byId(gameId)
      const app = game && (await this.#app.identity.apps.find(game.clientId))
      // A copy: those that end leave the set.
      for (const connection of [...this.#connections.inGame(gameId)]) {
        const reason = this.#refusal(connection, game, app?.clientId ?? null)
        if (reason) connection.end(reason)
      }
      this.#owed.delete(gameId)
    } catch (error) {
      this.#owed.add(gameId)
      this.#app.log.warn({ err: error, gameId }, 'a game could not be looked at for its rooms; it will be again')
    }
  }

  /** Looks again where it failed. Called now and then. */
  async retry(): Promise<void> {
    for (const gameId of [...this.#owed]) {
      this.#owed.delete(gameId)
      await this.look(gameId)
    }
  }

  #refusal({ account, clientId }: Connection, game: Game | null, appId: string | null): string | null {
    if (!game?.settings.multiplayer.enabled) return 'no rooms here'
    if (clientId === null && !game.settings.multiplayer.guests) return 'no guests here'
    if (!this.#app.games.visibleTo(account, game)) return 'not invited'
    return clientId !== null && clientId !== appId ? 'signed out' : null
  }
}
