import { MOST_AT_ONCE } from './protocol.ts'

/** The characters and bytes of events that may wait for the thread. Messages beyond it are left out. */
const MOST_WAITING = 1024 * 1024

/** Events that a script gets together (`ToThread`). */
interface EventBatch {
  events: string
  bytes: Uint8Array | null
  mayWait: boolean
}

/** Events of a room that wait for its script's thread, in batches that are not too large. */
export class WaitingEvents {
  #full: EventBatch[] = []
  /** The last batch. */
  #events = ''
  #bytes: Buffer[] = []
  #mayWait = true
  /** The size of the last batch, and of all. */
  #size = 0
  #total = 0

  get isEmpty(): boolean {
    return this.#total === 0
  }

  get isFull(): boolean {
    return this.#total >= MOST_WAITING
  }

  /**
   * @param event JSON values, separated by commas
   * @param mayWait whether the script does not answer it, so that it may wait for the next tick
   */
  add(event: string, mayWait: boolean, bytes: Buffer | null): void {
    const size = event.length + (bytes?.length ?? 0)
    if (this.#size > 0 && this.#size + size > MOST_AT_ONCE) this.#endBatch()
    if (!mayWait) this.#mayWait = false
    this.#events += this.#events === '' ? event : `,${event}`
    if (bytes) this.#bytes.push(bytes)
    this.#size += size
    this.#total += size
  }

  /** Returns all batches in order, and forgets them. */
  take(): EventBatch[] {
    if (this.#size > 0) this.#endBatch()
    const batches = this.#full
    this.clear()
    return batches
  }

  clear(): void {
    this.#full = []
    this.#events = ''
    this.#bytes = []
    this.#mayWait = true
    this.#size = 0
    this.#total = 0
  }

  #endBatch(): void {
    const bytes = this.#bytes.length === 0 ? null : new Uint8Array(Buffer.concat(this.#bytes))
    this.#full.push({ events: this.#events, bytes, mayWait: this.#mayWait })
    this.#events = ''
    this.#bytes = []
    this.#size = 0
    this.#mayWait = true
  }
}
