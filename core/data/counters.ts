import type { Clock } from '../clock.ts'

/** Where the sweeping of ended windows begins. */
const FIRST_SWEEP = 1024

/** Counters in this process's memory, each gone when the window ends that its first increment opened. */
export class Counters {
  readonly #clock: Clock
  readonly #windows = new Map<string, { count: number; endsAt: number }>()
  #sweepAt = FIRST_SWEEP

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Adds one. @returns the count within the window, this one included, and the milliseconds until it ends */
  increment(key: string, windowMs: number): { count: number; resetMs: number } {
    const now = this.#clock.now().getTime()
    let window = this.#windows.get(key)
    if (!window || window.endsAt <= now) {
      window = { count: 0, endsAt: now + windowMs }
      this.#windows.set(key, window)
      this.#sweep(now)
    }
    window.count++
    return { count: window.count, resetMs: window.endsAt - now }
  }

  /** Forgets what has ended, each time the map has doubled: memory stays in proportion to the open windows. */
  #sweep(now: number): void {
    if (this.#windows.size < this.#sweepAt) return
    for (const [key, window] of this.#windows) if (window.endsAt <= now) this.#windows.delete(key)
    this.#sweepAt = Math.max(FIRST_SWEEP, 2 * this.#windows.size)
  }
}
