import type { Clock } from '../clock.ts'

/** How many of the things that anybody may see have a tag. */
export interface TagCount {
  tag: string
  count: number
}

/** What is tagged. */
export interface Tagged {
  /** Counts the tags of what anybody may see, which may read every row. */
  count(): Promise<TagCount[]>
  /** Returns those of the ids whose things anybody may see. */
  shownOf(ids: readonly string[]): Promise<string[]>
}

/** The cache time of the counts. A new tag need not appear at once. */
const KEPT_MS = 60_000
/** After more changes than these the tags are counted again. */
const MOST_CHANGES = 100
const MOST_UNCOUNTED = 10_000

/**
 * The most frequent tags, counted at most once a minute. The tags of a thing that is no longer shown are gone at once.
 */
export class TagCounts {
  readonly #tagged: Tagged
  readonly #clock: Clock
  #counts: { value: Promise<TagCount[]>; until: number } | null = null
  /** Things that have changed since the tags were counted. */
  readonly #changed = new Set<string>()
  /** Things that have no part in the counts. Their further changes cost no new count. */
  readonly #uncounted = new Set<string>()
  #checking: Promise<void> = Promise.resolve()

  constructor(tagged: Tagged, clock: Clock) {
    this.#tagged = tagged
    this.#clock = clock
  }

  /** Returns the counts, which are at most a minute old. */
  async get(): Promise<TagCount[]> {
    if (this.#changed.size > 0) this.#checking = this.#checking.then(() => this.#dropHidden())
    await this.#checking
    const now = this.#clock.now().getTime()
    if (!this.#counts || this.#counts.until <= now) {
      const value = this.#tagged.count()
      const kept = { value, until: now + KEPT_MS }
      this.#counts = kept
      value.catch(() => {
        if (this.#counts === kept) this.#counts = null
      })
    }
    return this.#counts.value
  }

  /** Notes that a thing has changed or is gone. */
  noteChange(id: string): void {
    if (!this.#counts) return
    this.#changed.add(id)
    if (this.#changed.size <= MOST_CHANGES) return
    this.#counts = null
    this.#changed.clear()
  }

  /** Lets the tags be counted again if a thing is no longer shown. */
  async #dropHidden(): Promise<void> {
    const ids = [...this.#changed]
    this.#changed.clear()
    const shown = new Set(await this.#tagged.shownOf(ids).catch(() => []))
    if (this.#uncounted.size > MOST_UNCOUNTED) this.#uncounted.clear()
    for (const id of ids)
      if (shown.has(id)) this.#uncounted.delete(id)
      else if (!this.#uncounted.has(id)) {
        this.#uncounted.add(id)
        this.#counts = null
      }
  }
}
