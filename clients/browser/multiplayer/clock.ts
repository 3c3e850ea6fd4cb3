/** The number of pings used to set the clock. */
const KEPT = 8
/** The server's times are whole milliseconds. */
const ROUNDING_MS = 2

interface Ping {
  took: number
  offset: number
}

/**
 * Estimates the server's time from the round trips of pings. It goes with `performance.now()`, since the clock of a device
 * may be set at any time.
 */
export class ServerClock {
  /** The round trip of the last ping in ms. */
  latency: number | null = null
  #offset = 0
  #pings: Ping[] = []

  /** Sets the clock from a welcome message. @param serverNow in ms since 1970 */
  set(serverNow: number): void {
    this.#pings = []
    this.#offset = serverNow - performance.now()
  }

  /** Records a returned ping. The fastest of the recent pings sets the clock. @param sentAt of `performance.now()` */
  addPing(sentAt: number, serverNow: number): void {
    const now = performance.now()
    const ping = { took: now - sentAt, offset: serverNow + (now - sentAt) / 2 - now }
    this.latency = ping.took
    // `performance.now()` stands still while some computers sleep. Earlier pings are then no measure any more.
    const agreeing = this.#pings.every((other) => agree(ping, other)) ? this.#pings : []
    this.#pings = [...agreeing.slice(1 - KEPT), ping]
    this.#offset = this.#pings.reduce((best, other) => (other.took < best.took ? other : best)).offset
  }

  /** Returns the server's time in ms since 1970. */
  now(): number {
    return performance.now() + this.#offset
  }
}

/** Whether two pings may have measured the same clocks: each is wrong by at most half of its duration. */
const agree = (one: Ping, other: Ping): boolean =>
  Math.abs(one.offset - other.offset) <= (one.took + other.took) / 2 + ROUNDING_MS
