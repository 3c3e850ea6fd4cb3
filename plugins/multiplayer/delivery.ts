/** What has something to hand over. */
export interface Sender {
  readonly load: Load
  /** How many hear what is said. */
  readonly recipients: number
  /** Hands it over. @returns how many messages to how many recipients that was */
  handOver(): number
}

/**
 * How long rooms collect what they say before they write, by the deliveries a second (messages times recipients) that
 * they make: one write then carries many frames. A node that is busy as a whole has even its quiet rooms collect; a room
 * where more than so many messages a second are said has enough of them sooner.
 */
const BUSY = { room: 400, node: 20_000, collectMs: 8 }
const CROWDED = { room: 10_000, messages: 1500, collectMs: 12 }
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
 * Decides when rooms hand over: at once, at the end of the event loop's turn, while they are quiet, and some ms later
 * while they, or all together, are busy. Those who wait hand over together, so that one timer serves them all and the
 * event loop reads in between what has come for all of them.
 */
export class Delivery {
  readonly #load = new Load()
  readonly #handOver = (sender: Sender) => {
    const deliveries = sender.handOver()
    sender.load.add(deliveries)
    this.#load.add(deliveries)
  }
  readonly #now = new Round((run) => setImmediate(run), this.#handOver)
  readonly #busy = new Round((run) => setTimeout(run, BUSY.collectMs), this.#handOver)
  readonly #crowded = new Round((run) => setTimeout(run, CROWDED.collectMs), this.#handOver)

  /** Something has something to hand over, and had nothing before. */
  wake(sender: Sender): void {
    const now = performance.now()
    const load = sender.load.at(now)
    if (load > CROWDED.room && load < CROWDED.messages * sender.recipients) this.#crowded.add(sender)
    else if (load > BUSY.room || this.#load.at(now) > BUSY.node) this.#busy.add(sender)
    else this.#now.add(sender)
  }
}

/** Those who wait for one moment. */
class Round {
  readonly #schedule: (run: () => void) => void
  readonly #handOver: (sender: Sender) => void
  #senders: Sender[] = []

  constructor(schedule: (run: () => void) => void, handOver: (sender: Sender) => void) {
    this.#schedule = schedule
    this.#handOver = handOver
  }

  add(sender: Sender): void {
    if (this.#senders.push(sender) === 1) this.#schedule(this.#run)
  }

  readonly #run = () => {
    const senders = this.#senders
    this.#senders = []
    for (const sender of senders) this.#handOver(sender)
  }
}
