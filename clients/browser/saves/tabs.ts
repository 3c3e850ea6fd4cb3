/** What pages of the game in one browser tell each other. */
type Message =
  | { kind: 'opened' | 'present' | 'closed'; from: string }
  | { kind: 'changed'; from: string; account: string; key: string; stamp: string }

export type ChangedElsewhere = Pick<Extract<Message, { kind: 'changed' }>, 'account' | 'key' | 'stamp'>

const CHANNEL = 'service.saves'

/** The other tabs with this game, in this browser. */
export class Tabs {
  readonly #page: string
  readonly #others = new Set<string>()
  readonly #parts: { changed(change: ChangedElsewhere): void; elsewhere(isOpen: boolean): void }
  #channel: BroadcastChannel | null = null

  /** @param page unique among all pages */
  constructor(page: string, parts: { changed(change: ChangedElsewhere): void; elsewhere(isOpen: boolean): void }) {
    this.#page = page
    this.#parts = parts
    if (typeof BroadcastChannel !== 'function') return
    this.#open()
    // A page with an open channel does not go into the browser's back-forward cache.
    globalThis.addEventListener?.('pagehide', () => this.#close())
    globalThis.addEventListener?.('pageshow', () => this.#open())
  }

  /** Whether another tab has this game open. */
  get isElsewhere(): boolean {
    return this.#others.size > 0
  }

  /** Tells the other tabs that a save has another value. */
  tell(change: ChangedElsewhere): void {
    this.#post({ kind: 'changed', ...change, from: this.#page })
  }

  #open(): void {
    if (this.#channel) return
    try {
      this.#channel = new BroadcastChannel(CHANNEL)
    } catch {
      // A frame that is cut off from the browser's storage.
      return
    }
    this.#channel.onmessage = ({ data }) => this.#receive(data as Message)
    this.#post({ kind: 'opened', from: this.#page })
  }

  #close(): void {
    this.#post({ kind: 'closed', from: this.#page })
    this.#channel?.close()
    this.#channel = null
    this.#others.clear()
  }

  #post(message: Message): void {
    this.#channel?.postMessage(message)
  }

  #receive(message: Message): void {
    if (message.kind === 'changed') {
      this.#parts.changed(message)
      return
    }
    const before = this.isElsewhere
    if (message.kind === 'closed') this.#others.delete(message.from)
    else this.#others.add(message.from)
    if (message.kind === 'opened') this.#post({ kind: 'present', from: this.#page })
    if (this.isElsewhere !== before) this.#parts.elsewhere(this.isElsewhere)
  }
}
