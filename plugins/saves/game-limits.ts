import type { FastifyInstance } from 'fastify'
import { TtlCache } from '../../core/data/ttl-cache.ts'
import type { SaveLimits } from './schemas.ts'

/** The bytes that the saves of one player may have, by game: what its maker set, within the limit of the platform. */
export class GameLimits {
  readonly #games: Pick<FastifyInstance['games'], 'byId' | 'byIds'>
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
    return this.#within(await this.#bytes.get(gameId, load))
  }

  /** Returns the same of several games, by their ids. */
  async byGame(gameIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const games = new Map((await this.#games.byIds(gameIds)).map((game) => [game.id, game]))
    return new Map(gameIds.map((id) => [id, this.#within(games.get(id)?.settings.saves.bytes)]))
  }

  #within(bytes: number | null | undefined): number {
    return Math.min(this.#most, bytes ?? this.#most)
  }
}
