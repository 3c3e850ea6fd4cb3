import type { Clock } from '../clock.ts'
import { isPlatformError } from '../errors.ts'

/** Interval of retries during an outage. */
const RETRY_MS = 1000

/**
 * Caches values that every request needs, for a few seconds at most: account status, sessions, tokens, live deploys.
 *
 * A domain event drops an entry at once. The short lifetime bounds the staleness on a node that missed the event
 * (5 s). A value whose load overlaps a drop is not cached, since it may be older than the drop.
 *
 * With `outageMs`, the last value stays valid for that long while `load` answers 503, and `load` is retried once a
 * second. Use it for data that may be slightly stale, such as the public files of a game, never for authorization
 * decisions.
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

  /**
   * Returns the cached value of `key`, else the result of `load`. Null is not cached, since clients could invent
   * endless keys.
   */
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

  /** Returns the valid cached value of `key` without waiting. */
  peek(key: string): Value | undefined {
    const known = this.#entries.get(key)
    return known && known.until > this.#clock.now().getTime() ? known.value : undefined
  }

  drop(key: string): void {
    this.#drops++
    this.#entries.delete(key)
  }

  /** Drops every entry that `concerns` selects. */
  dropWhere(concerns: (value: Value) => boolean): void {
    this.#drops++
    for (const [key, { value }] of this.#entries) if (concerns(value)) this.#entries.delete(key)
  }
}
