/** How often the event loop is looked at, in ms. */
const TICK_MS = 10
const MB = 1024 ** 2

/** What happened while something was measured. */
export interface Held {
  /** The largest processor time of this thread between two ticks, in ms. It is what the event loop was held at most. */
  ms: number
  /** The processor time of this thread in all, in ms. */
  allMs: number
  /** The growth of the process's resident memory at its highest, in MB. */
  mb: number
}

/** Measures how long the event loop of this thread is held, by the thread's processor time, and never by the clock. */
export class Meter {
  #begun = process.threadCpuUsage()
  #since = this.#begun
  #ms = 0
  #before = 0
  #most = 0
  #timer: NodeJS.Timeout | null = null

  start(): void {
    this.#begun = process.threadCpuUsage()
    this.#since = this.#begun
    this.#ms = 0
    this.#before = process.memoryUsage.rss()
    this.#most = this.#before
    this.#timer = setInterval(() => this.#look(), TICK_MS)
  }

  /** Ends with the next tick, so that work that goes on after an answer counts. */
  async stop(): Promise<Held> {
    await new Promise((done) => setTimeout(done, TICK_MS))
    this.#look()
    if (this.#timer) clearInterval(this.#timer)
    const { user, system } = process.threadCpuUsage(this.#begun)
    return { ms: this.#ms, allMs: (user + system) / 1000, mb: (this.#most - this.#before) / MB }
  }

  #look(): void {
    const { user, system } = process.threadCpuUsage(this.#since)
    this.#since = process.threadCpuUsage()
    this.#ms = Math.max(this.#ms, (user + system) / 1000)
    this.#most = Math.max(this.#most, process.memoryUsage.rss())
  }
}
