import type { Clock } from '../clock.ts'
import { isPlatformError } from '../errors.ts'

/** During an outage, how long until the next request waits for an answer again. */
const RETRY_MS = 1000

/**
 * Remembers what every request asks for, for a few seconds at most: standing of players, sessions, tokens, live deploys.
 *
 * A domain event drops an entry at once; the short life bounds what a node that missed the event can get wrong
 * (contracts, section 4: 5 s). What was being read while something was dropped is not kept: it may be older than that.
 *
 * With `outageMs`, what was read last is good for that long while `load` answers 503, and is asked for again once a
 * second: for what may be a little old, such as the public files of a game, and for nothing that decides who may do what.
 */
export class TtlCache<Value> {
  readonly #clock: Clock
  readonly #maxAgeMs: number
  readonly #maxEntries: number
  readonly #outageMs: number
  readonly #entries = new Map<string, { value: Value; readAt: number; until: number }>()
  #drops = 0

  constructor(clock: Clock, { maxAgeMs = 5000, maxEntries = 10_000, outageMs = 0 } = {}) {
    this.#clock = clock
    this.#maxAgeMs = maxAgeMs
    this.#maxEntries = maxEntries
    this.#outageMs = outageMs
  }

  /** The cached value of `key`, else the result of `load`. Null is not cached: strangers could invent endless keys. */
  async get(key: string, load: () => Promise<Value | null>): Promise<Value | null> {
    const now = this.#clock.now().getTime()
    const known = this.#entries.get(key)
    if (known && known.until > now) return known.value
    const drops = this.#drops
    try {
      const value = await load()
      if (value === null || drops !== this.#drops) return value
      if (this.#entries.size >= this.#maxEntries) this.#entries.clear()
      this.#entries.set(key, { value, readAt: now, until: now + this.#maxAgeMs })
      return value
    } catch (error) {
      const outage = isPlatformError(error) && error.statusCode === 503
      if (!outage || !known || drops !== this.#drops || now >= known.readAt + this.#outageMs) throw error
      known.until = now + RETRY_MS
      return known.value
    }
  }

  /** The cached and valid value of `key`, without waiting. */
  peek(key: string): Value | undefined {
    const known = this.#entries.get(key)
    return known && known.until > this.#clock.now().getTime() ? known.value : undefined
  }

  drop(key: string): void {
    this.#drops++
    this.#entries.delete(key)
  }

  /** Forgets every entry that `concerns` picks. */
  dropWhere(concerns: (value: Value) => boolean): void {
    this.#drops++
    for (const [key, { value }] of this.#entries) if (concerns(value)) this.#entries.delete(key)
  }
}
