/** What has something to hand over. */
export interface Sender {
  readonly load: Load
  /** Hands it over. @returns how many messages to how many recipients that was */
  handOver(): number
}

/** How long a busy room collects what it says before it writes: one write then carries many frames. */
const COLLECT_MS = 8
/** From how many deliveries a second (messages times recipients) on a room is busy, or the whole node. */
const BUSY_ROOM = 400
const BUSY_NODE = 20_000
const WINDOW_MS = 100

/** Deliveries a second, measured over short windows. */
export class Load {
  #rate = 0
  #count = 0
  #since = 0

  add(deliveries: number): void {
    this.#count += deliveries
  }

  /** @param now in ms, of a clock that never goes back */
  at(now: number): number {
    const elapsed = now - this.#since
    if (elapsed >= WINDOW_MS) {
      this.#rate = (this.#count * 1000) / elapsed
      this.#count = 0
      this.#since = now
    }
    return this.#rate
  }
}

/**
 * Decides when rooms hand over: at once, at the end of the event loop's turn, while they are quiet, and up to 8 ms later
 * while they, or all together, are busy. One timer serves all rooms.
 */
export class Delivery {
  readonly #load = new Load()
  #soon: Sender[] = []
  readonly #later: { sender: Sender; at: number }[] = []
  #isTimed = false

  /** Something has something to hand over, and had nothing before. */
  wake(sender: Sender): void {
    const now = performance.now()
    if (sender.load.at(now) > BUSY_ROOM || this.#load.at(now) > BUSY_NODE) {
      this.#later.push({ sender, at: now + COLLECT_MS })
      this.#time()
    } else if (this.#soon.push(sender) === 1) {
      setImmediate(this.#handOverSoon)
    }
  }

  readonly #handOverSoon = () => {
    const senders = this.#soon
    this.#soon = []
    for (const sender of senders) this.#handOver(sender)
  }

  readonly #handOverLater = () => {
    this.#isTimed = false
    // Half a timer's step early rather than one late.
    const now = performance.now() + 0.5
    let due = 0
    for (; due < this.#later.length; due++) {
      const next = this.#later[due] as { sender: Sender; at: number }
      if (next.at > now) break
      this.#handOver(next.sender)
    }
    this.#later.splice(0, due)
    this.#time()
  }

  #time(): void {
    const next = this.#later[0]
    if (!next || this.#isTimed) return
    this.#isTimed = true
    setTimeout(this.#handOverLater, Math.max(1, next.at - performance.now()))
  }

  #handOver(sender: Sender): void {
    const deliveries = sender.handOver()
    sender.load.add(deliveries)
    this.#load.add(deliveries)
  }
}
