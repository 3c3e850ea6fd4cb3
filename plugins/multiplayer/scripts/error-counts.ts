/** So many exceptions within a minute are too many. */
export const MOST_ERRORS = 20
const MINUTE_MS = 60_000

/** The exceptions of the last minute, by who has caused them. */
export class ErrorCounts {
  readonly #times = new Map<string, number[]>()

  /** @param cause an account, or empty @param now in ms since 1970 @returns whether it has caused too many */
  add(cause: string, now: number): boolean {
    for (const [other, times] of this.#times) {
      const recent = times.filter((at) => now - at < MINUTE_MS)
      if (recent.length > 0) this.#times.set(other, recent.slice(-MOST_ERRORS))
      else this.#times.delete(other)
    }
    const times = this.#times.get(cause) ?? []
    this.#times.set(cause, times)
    return times.push(now) >= MOST_ERRORS
  }
}
