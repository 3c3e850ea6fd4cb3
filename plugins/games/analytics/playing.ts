import type { Clock } from '../../../core/clock.ts'
import type { Database } from '../../../core/data/database.ts'
import { PRESENT_MS } from './write.ts'

/** How old the answer may be: many pages ask, and a moment makes no difference. */
const KEPT_MS = 2000

/** The players in rooms now, on all nodes together. */
export class Playing {
  readonly #db: Database
  readonly #clock: Clock
  #known: { players: Promise<ReadonlyMap<string, number>>; until: number } | null = null

  constructor({ db, clock }: { db: Database; clock: Clock }) {
    this.#db = db
    this.#clock = clock
  }

  /** How many players are in the rooms of each game that has some; a few seconds old at most. */
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
