/** Pings that the clock is set by. */
const KEPT = 8

/** The server's time, as well as the round trips of pings let one know it. */
export class ServerClock {
  /** Round trip of the last ping, in ms. */
  latency: number | null = null
  #offset = 0
  #pings: { took: number; offset: number }[] = []

  /** Begins with what a welcome says. @param serverNow in ms since 1970 */
  set(serverNow: number): void {
    this.#pings = []
    this.#offset = serverNow - Date.now()
  }

  /** A ping has come back. Of the last ones the quickest knows best. @param sentAt of `performance.now()` */
  addPing(sentAt: number, serverNow: number): void {
    const took = performance.now() - sentAt
    this.latency = took
    this.#pings = [...this.#pings.slice(1 - KEPT), { took, offset: serverNow + took / 2 - Date.now() }]
    this.#offset = this.#pings.reduce((best, ping) => (ping.took < best.took ? ping : best)).offset
  }

  /** In ms since 1970. */
  now(): number {
    return Date.now() + this.#offset
  }
}
