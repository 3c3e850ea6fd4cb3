import type { Clock } from './clock.ts'

/**
 * Remembers what every request asks for, for a few seconds at most: standing of players, sessions, tokens, live deploys.
 *
 * A domain event drops an entry at once; the short life bounds what a node that missed the event can get wrong
 * (contracts, section 4: 5 s). What was being read while something was dropped is not kept: it may be older than that.
 */
export class ShortCache<Value> {
  readonly #clock: Clock
  readonly #maxAgeMs: number
  readonly #maxEntries: number
  readonly #entries = new Map<string, { value: Value; until: number }>()
  #drops = 0

  constructor(clock: Clock, { maxAgeMs = 5000, maxEntries = 10_000 } = {}) {
    this.#clock = clock
    this.#maxAgeMs = maxAgeMs
    this.#maxEntries = maxEntries
  }

  /** What is remembered under `key`, else what `load` reads. Null is not remembered: keys can be made up without end. */
  async get(key: string, load: () => Promise<Value | null>): Promise<Value | null> {
    const now = this.#clock.now().getTime()
    const known = this.#entries.get(key)
    if (known && known.until > now) return known.value
    const drops = this.#drops
    const value = await load()
    if (value === null || drops !== this.#drops) return value
    if (this.#entries.size >= this.#maxEntries) this.#entries.clear()
    this.#entries.set(key, { value, until: now + this.#maxAgeMs })
    return value
  }

  /** What is remembered under `key` and still holds, at once. */
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
