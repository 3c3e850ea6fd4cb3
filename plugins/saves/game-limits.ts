import type { FastifyInstance } from 'fastify'
import { TtlCache } from '../../core/data/ttl-cache.ts'
import type { SaveLimits } from './schemas.ts'

/** The bytes that the saves of one player may have, by game: what its maker set, within the limit of the platform. */
export class GameLimits {
  readonly #games: Pick<FastifyInstance['games'], 'byId'>
  readonly #most: number
  readonly #bytes: TtlCache<number>

  constructor(
    { clock, games, events }: Pick<FastifyInstance, 'clock' | 'games' | 'events'>,
    { savesTotalBytes }: Pick<SaveLimits, 'savesTotalBytes'>,
  ) {
    this.#games = games
    this.#most = savesTotalBytes
    this.#bytes = new TtlCache(clock)
    events.on('game.changed', ({ gameId }) => this.#bytes.drop(gameId))
  }

  /** Returns the bytes of all saves of one player in a game, with their earlier versions. */
  async bytesOf(gameId: string): Promise<number> {
    const load = async () => (await this.#games.byId(gameId))?.settings.saves.bytes ?? null
    return Math.min(this.#most, (await this.#bytes.get(gameId, load)) ?? this.#most)
  }
}
