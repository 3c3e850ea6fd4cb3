export const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 30_000

/** Returns the time in ms to wait after a failed attempt. It doubles with each one; the first has the number 0. */
export const waitAfter = (attempt: number): number => Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt)

/** The wait between two attempts to reach the server. */
export class RetryDelay {
  #shorten: (() => void) | null = null

  /** Ends the wait early. A failed attempt is never repeated at once, however often a game saves. */
  shorten(): void {
    this.#shorten?.()
  }

  /**
   * Waits longer after each failed attempt.
   *
   * @param leastMs what the server has asked for
   * @param isShort whether the wait is shortened from the beginning
   */
  async wait(attempt: number, { leastMs = 0, isShort }: { leastMs?: number; isShort: boolean }): Promise<void> {
    // Many pages that lost the same server must not come back at the same moment.
    const ms = Math.max(leastMs, waitAfter(attempt) * (0.5 + Math.random() / 2))
    const shortest = Math.min(ms, Math.max(leastMs, FIRST_WAIT_MS))
    const begun = performance.now()
    await new Promise<void>((resolve) => {
      let timer = setTimeout(resolve, ms)
      this.#shorten = () => {
        clearTimeout(timer)
        timer = setTimeout(resolve, begun + shortest - performance.now())
      }
      if (isShort) this.#shorten()
    })
    this.#shorten = null
  }
}
