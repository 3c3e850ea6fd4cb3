/** A component that collects messages and writes them when it is flushed. */
export interface CoalescedWriter {
  readonly deliveryRate: DeliveryRate
  /** The number of recipients of each message. */
  readonly recipients: number
  /** Writes the collected messages. @returns deliveries: messages times recipients */
  flush(): number
}

/**
 * How long a room collects messages before it writes, by its deliveries a second (messages times recipients). One write
 * then carries many frames. On a busy node even quiet rooms collect. A room with more than `messages` a second and
 * recipient collects for the shorter time, since that already fills its writes.
 */
const BUSY = { room: 400, node: 20_000, collectMs: 8 }
const CROWDED = { room: 10_000, messages: 1500, collectMs: 12 }
const WINDOW_MS = 100

/** The number of deliveries per second, measured over short windows. */
export class DeliveryRate {
  #rate = 0
  #count = 0
  #since = 0

  add(deliveries: number): void {
    this.#count += deliveries
  }

  /** @param now in ms, of a monotonic clock */
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
 * Write coalescing: decides when rooms flush. A quiet room flushes at the end of the event loop's turn; a busy room, or
 * any room on a busy node, some ms later. Rooms that wait flush together, so one timer serves them all and the event
 * loop reads their input in between.
 */
export class WriteCoalescer {
  readonly #deliveryRate = new DeliveryRate()
  readonly #flush = (writer: CoalescedWriter) => {
    const deliveries = writer.flush()
    writer.deliveryRate.add(deliveries)
    this.#deliveryRate.add(deliveries)
  }
  readonly #now = new FlushQueue((run) => setImmediate(run), this.#flush)
  readonly #busy = new FlushQueue((run) => setTimeout(run, BUSY.collectMs), this.#flush)
  readonly #crowded = new FlushQueue((run) => setTimeout(run, CROWDED.collectMs), this.#flush)

  /** Schedules a flush. A writer calls it when it has collected its first message. */
  schedule(writer: CoalescedWriter): void {
    const now = performance.now()
    const rate = writer.deliveryRate.at(now)
    if (rate > CROWDED.room && rate < CROWDED.messages * writer.recipients) this.#crowded.add(writer)
    else if (rate > BUSY.room || this.#deliveryRate.at(now) > BUSY.node) this.#busy.add(writer)
    else this.#now.add(writer)
  }
}

/** Writers that are flushed at the same time. */
class FlushQueue {
  readonly #schedule: (run: () => void) => void
  readonly #flush: (writer: CoalescedWriter) => void
  #writers: CoalescedWriter[] = []

  constructor(schedule: (run: () => void) => void, flush: (writer: CoalescedWriter) => void) {
    this.#schedule = schedule
    this.#flush = flush
  }

  add(writer: CoalescedWriter): void {
    if (this.#writers.push(writer) === 1) this.#schedule(this.#run)
  }

  readonly #run = () => {
    const writers = this.#writers
    this.#writers = []
    for (const writer of writers) this.#flush(writer)
  }
}
