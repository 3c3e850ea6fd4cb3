import { createHmac } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../../../core/clock.ts'
import type { Database } from '../../../core/data/database.ts'
import { randomText } from '../../../core/ids.ts'
import { type Count, writeCounts } from './write.ts'

/**
 * The maximum number of cached visitors that are stored already. An evicted visitor costs a statement that changes
 * nothing.
 */
const MOST_KNOWN = 200_000

/**
 * Counts events of games in memory and writes them together every few seconds. A crash loses the events of the last few
 * seconds. All nodes add to the same rows.
 *
 * The counts identify nobody: a visitor is a hash, keyed by the platform's secret and mixed with day and game, and the
 * hash is deleted when the day is over.
 */
export class Counts {
  readonly #db: Database
  readonly #clock: Clock
  readonly #log: FastifyBaseLogger
  readonly #key: Buffer
  readonly #node = randomText(9)
  /** The players in rooms on this node, by game. */
  readonly #present = new Map<string, number>()
  #pending = new Map<string, Count>()
  #known = new Set<string>()
  #knownDate = ''
  #writing: Promise<void> = Promise.resolve()

  constructor(parts: { db: Database; clock: Clock; log: FastifyBaseLogger; key: Buffer }) {
    this.#db = parts.db
    this.#clock = parts.clock
    this.#log = parts.log
    this.#key = parts.key
  }

  /**
   * Counts a visit to a game.
   *
   * @param visitor distinguishes visitors within a day: the player's id, else address and browser; it is not stored
   */
  play(gameId: string, visitor: string): void {
    const count = this.#count(gameId)
    count.plays++
    const hash = createHmac('sha256', this.#key)
      .update(`${count.date}\n${gameId}\n${visitor}`)
      .digest('base64url')
      .slice(0, 22)
    if (!this.#known.has(hash)) count.visitors.add(hash)
  }

  /** Counts a sign-in to a game. */
  signIn(gameId: string, _playerId?: string): void {
    this.#count(gameId).signIns++
  }

  /** Sets the number of players in a game's rooms on this node. */
  present(gameId: string, players: number): void {
    if (players > 0) this.#present.set(gameId, players)
    else this.#present.delete(gameId)
    const count = this.#count(gameId)
    count.players = Math.max(count.players ?? 0, players)
  }

  /** Stores the pending counts, including those of an outage. It never rejects. */
  flush(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#flush())
    return this.#writing
  }

  async #flush(): Promise<void> {
    // Players who stay count in every day's peak, even without other events.
    for (const [gameId, players] of this.#present) {
      const count = this.#count(gameId)
      count.players = Math.max(count.players ?? 0, players)
    }
    const counts = [...this.#pending.values()]
    if (counts.length === 0) return
    this.#pending = new Map()
    try {
      await writeCounts(this.#db, counts, { node: this.#node, now: this.#clock.now() })
      this.#remember(counts)
      // This reports players who left, so that the next sum excludes them.
      for (const { gameId, players } of counts) {
        if (players && !this.#present.has(gameId)) this.#count(gameId).players ??= 0
      }
    } catch (error) {
      this.#log.error({ err: error, games: counts.length }, 'analytics could not be stored; the next flush repeats it')
      for (const count of counts) this.#takeBack(count)
    }
  }

  #count(gameId: string, date = this.#clock.now().toISOString().slice(0, 10)): Count {
    const key = `${date} ${gameId}`
    const known = this.#pending.get(key)
    if (known) return known
    const count: Count = { gameId, date, plays: 0, signIns: 0, visitors: new Set(), players: null }
    this.#pending.set(key, count)
    return count
  }

  #takeBack({ gameId, date, plays, signIns, visitors, players }: Count): void {
    const count = this.#count(gameId, date)
    count.plays += plays
    count.signIns += signIns
    for (const visitor of visitors) count.visitors.add(visitor)
    if (players !== null) count.players = Math.max(count.players ?? 0, players)
  }

  #remember(counts: readonly Count[]): void {
    const today = this.#clock.now().toISOString().slice(0, 10)
    if (today !== this.#knownDate || this.#known.size > MOST_KNOWN) this.#known = new Set()
    this.#knownDate = today
    for (const { visitors } of counts) for (const visitor of visitors) this.#known.add(visitor)
  }
}
