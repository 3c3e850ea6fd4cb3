/** The processor time of this thread in ms. A thread that waits for a processor uses none. */
export function processorMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

let marked = 0

/** Marks the begin of a turn of this thread. Asking for the processor time of each call would cost more than the call. */
export function markProcessorTime(): void {
  marked = processorMs()
}

/** Returns the processor time since the mark, and sets a new mark. */
export function processorMsSinceMark(): number {
  const before = marked
  markProcessorTime()
  return marked - before
}

/** A token bucket in any unit: refilled at a rate, with a maximum. */
export class Allowance {
  readonly #perMs: number
  readonly #most: number
  #left: number
  #at: number

  constructor(perSecond: number, most: number, now: number) {
    this.#perMs = perSecond / 1000
    this.#most = most
    this.#left = most
    this.#at = now
  }

  /** Returns what may be used now. @param now in ms */
  at(now: number): number {
    this.#left = Math.min(this.#most, this.#left + Math.max(0, now - this.#at) * this.#perMs)
    this.#at = now
    return this.#left
  }

  use(amount: number): void {
    this.#left -= amount
  }
}
