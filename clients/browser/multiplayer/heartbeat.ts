const PING_MS = 10_000
const SILENCE_MS = 25_000

/** The most that the time between two checks counts. A later check was delayed, so nobody looked in between. */
const OBSERVED_MS = SILENCE_MS / 2

/**
 * Decides when to ping the server, and when a connection is lost: after 25 s without an answer to a ping.
 *
 * Browsers run the timers of a hidden tab once a minute, and no timer runs while a computer sleeps. A late check thus
 * proves nothing: it pings, and the time before it counts for half of the silence at most.
 */
export class Heartbeat {
  #isWaiting = false
  #silentMs = 0
  #pingedAt = Number.NEGATIVE_INFINITY
  #checkedAt = 0

  /** Notes a ping. @param now of `performance.now()`, as everywhere here */
  pinged(now: number): void {
    this.#pingedAt = now
    if (this.#isWaiting) return
    this.#isWaiting = true
    this.#silentMs = 0
    this.#checkedAt = now
  }

  /** Notes that anything has arrived. */
  heard(): void {
    this.#isWaiting = false
  }

  /** Returns what is to be done now. Call it more often than every 10 s. */
  check(now: number): 'ping' | 'lost' | null {
    if (this.#isWaiting) this.#silentMs += Math.min(now - this.#checkedAt, OBSERVED_MS)
    this.#checkedAt = now
    if (this.#isWaiting && this.#silentMs >= SILENCE_MS) return 'lost'
    return now - this.#pingedAt > PING_MS ? 'ping' : null
  }
}
