import type { Clock } from '../../../core/clock.ts'
import type { Database } from '../../../core/data/database.ts'
import { PRESENT_MS } from './write.ts'

/** The maximum age of the cached answer, which many pages request. */
const KEPT_MS = 2000

/** The players who are in rooms now, on all nodes. */
export class Playing {
  readonly #db: Database
  readonly #clock: Clock
  #known: { players: Promise<ReadonlyMap<string, number>>; until: number } | null = null

  constructor({ db, clock }: { db: Database; clock: Clock }) {
    this.#db = db
    this.#clock = clock
  }

  /** Returns the number of players in rooms by game, for games with players. It is at most a few seconds old. */
  now(): Promise<ReadonlyMap<string, number>> {
    const now = this.#clock.now().getTime()
    if (!this.#known || this.#known.until <= now) {
      const players = this.#read(now)
      const kept = { players, until: now + KEPT_MS }
      this.#known = kept
      players.catch(() => {
        if (this.#known === kept) this.#known = null
      })
    }
    return this.#known.players
  }

  async #read(now: number): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#db.query<{ game_id: string; players: number }>(
      `select game_id, sum(players) as players from game_presence
       where seen_at > ? and players > 0 group by game_id order by players desc`,
      [new Date(now - PRESENT_MS)],
    )
    return new Map(rows.map((row) => [row.game_id, Number(row.players)]))
  }
}
