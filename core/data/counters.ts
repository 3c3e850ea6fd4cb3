import type { Clock } from '../clock.ts'

/** The number of windows at which the first sweep happens. */
const FIRST_SWEEP = 1024

/** In-memory counters of this process. A counter expires with the window that its first increment opens. */
export class Counters {
  readonly #clock: Clock
  readonly #windows = new Map<string, { count: number; endsAt: number }>()
  #sweepAt = FIRST_SWEEP

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Increments a counter.
   *
   * @returns the count within the window, including this increment, and the milliseconds until the window ends
   */
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

  /** Returns the milliseconds until the window of a counter ends; null for one without an open window. */
  openForMs(key: string): number | null {
    const leftMs = (this.#windows.get(key)?.endsAt ?? 0) - this.#clock.now().getTime()
    return leftMs > 0 ? leftMs : null
  }

  /** Removes expired windows each time the map has doubled, so that memory stays proportional to the open windows. */
  #sweep(now: number): void {
    if (this.#windows.size < this.#sweepAt) return
    for (const [key, window] of this.#windows) if (window.endsAt <= now) this.#windows.delete(key)
    this.#sweepAt = Math.max(FIRST_SWEEP, 2 * this.#windows.size)
  }
}
