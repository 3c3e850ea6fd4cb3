/** A number of messages a second, with bursts. Times are those of `performance.now()`. */
export class TokenBucket {
  readonly #perMs: number
  readonly #burst: number
  #left: number
  #at = performance.now()

  constructor(perSecond: number, burst: number) {
    this.#perMs = perSecond / 1000
    this.#burst = burst
    this.#left = burst
  }

  /** The number of messages that are allowed now. */
  get left(): number {
    const now = performance.now()
    this.#left = Math.min(this.#burst, this.#left + (now - this.#at) * this.#perMs)
    this.#at = now
    return this.#left
  }

  /** Takes messages, also more than there are. */
  take(count: number): void {
    this.#left = this.left - count
  }

  /** Leaves at most so many. */
  leave(most: number): void {
    this.#left = Math.min(this.left, most)
  }
}
