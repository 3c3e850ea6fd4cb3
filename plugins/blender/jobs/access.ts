import type { FastifyInstance } from 'fastify'
import { NotFound } from '../../../core/errors.ts'

interface Whose {
  ownerId: string
  gameId?: string | null | undefined
}

/**
 * Decides which jobs and generations a player may read, cancel and go on from: the player's own, and those of the games
 * that the player makes. Everything that depends on who asks asks this.
 */
export class JobAccess {
  readonly #games: FastifyInstance['games']

  constructor({ games }: Pick<FastifyInstance, 'games'>) {
    this.#games = games
  }

  /**
   * Returns a row that the player may read.
   *
   * @throws NotFound also for what belongs to others, so that its existence stays hidden
   */
  async mustRead<Row extends Whose>(playerId: string, row: Row | null, noun: string): Promise<Row> {
    if (row && (row.ownerId === playerId || (row.gameId && (await this.#games.isMaker(playerId, row.gameId)))))
      return row
    throw new NotFound(noun)
  }

  /**
   * Does the same for a change. All further transactions of the request check again that the player makes the game.
   *
   * @throws NotFound
   */
  async mustChange<Row extends Whose>(playerId: string, row: Row | null, noun: string): Promise<Row> {
    const found = await this.mustRead(playerId, row, noun)
    if (found.ownerId !== playerId) await this.#games.mustMake(playerId, found.gameId as string)
    return found
  }

  /**
   * Returns the game of a new job.
   *
   * @param asked the id or slug of a game that the player makes; undefined for the game of the source
   * @param source the job that the new one goes on from. Its game is left out when the player no longer makes it.
   * @returns the id of the game, or null for none
   * @throws NotFound of the game that was asked for
   */
  async gameFor(playerId: string, asked: string | undefined, source: Whose | null): Promise<string | null> {
    if (asked !== undefined) return (await this.#games.mustMake(playerId, asked)).id
    const gameId = source?.gameId ?? null
    if (gameId === null || !(await this.#games.isMaker(playerId, gameId))) return null
    return (await this.#games.mustMake(playerId, gameId)).id
  }
}
