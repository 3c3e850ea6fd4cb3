/** The number of pings used to set the clock. */
const KEPT = 8

/** Estimates the server's time from the round trips of pings. */
export class ServerClock {
  /** The round trip of the last ping in ms. */
  latency: number | null = null
  #offset = 0
  #pings: { took: number; offset: number }[] = []

  /** Sets the clock from a welcome message. @param serverNow in ms since 1970 */
  set(serverNow: number): void {
    this.#pings = []
    this.#offset = serverNow - Date.now()
  }

  /** Records a returned ping. The fastest of the recent pings sets the clock. @param sentAt of `performance.now()` */
  addPing(sentAt: number, serverNow: number): void {
    const took = performance.now() - sentAt
    this.latency = took
    this.#pings = [...this.#pings.slice(1 - KEPT), { took, offset: serverNow + took / 2 - Date.now() }]
    this.#offset = this.#pings.reduce((best, ping) => (ping.took < best.took ? ping : best)).offset
  }

  /** Returns the server's time in ms since 1970. */
  now(): number {
    return Date.now() + this.#offset
  }
}
