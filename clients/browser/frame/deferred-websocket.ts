type Kind = 'open' | 'message' | 'error' | 'close'
type Listener = (event: Event) => unknown

const KINDS: readonly Kind[] = ['open', 'message', 'error', 'close']

/**
 * A `WebSocket` that connects once its credentials are known, since a socket can carry them only when it is created. To
 * the page it is a socket that takes a moment longer to open.
 */
export class DeferredWebSocket extends EventTarget {
  readonly url: string
  #socket: WebSocket | null = null
  #binaryType: BinaryType = 'blob'
  /** Whether `close` was called before the socket existed. */
  #closed = false
  /** The handlers set as `onopen` and similar, each with its event listener. */
  readonly #handlers = new Map<Kind, { given: Listener; listener: Listener }>()

  /**
   * @param address to connect to
   * @param connect creates the socket
   */
  constructor(address: string | URL, ready: Promise<void>, connect: () => WebSocket) {
    super()
    this.url = new URL(address, document.baseURI).href.replace(/^http/, 'ws')
    void ready.then(() => !this.#closed && this.#join(connect()))
  }

  get readyState(): number {
    return this.#socket?.readyState ?? (this.#closed ? WebSocket.CLOSED : WebSocket.CONNECTING)
  }

  get protocol(): string {
    return this.#socket?.protocol ?? ''
  }

  get extensions(): string {
    return this.#socket?.extensions ?? ''
  }

  get bufferedAmount(): number {
    return this.#socket?.bufferedAmount ?? 0
  }

  get binaryType(): BinaryType {
    return this.#binaryType
  }

  set binaryType(type: BinaryType) {
    this.#binaryType = type
    if (this.#socket) this.#socket.binaryType = type
  }

  send(data: Parameters<WebSocket['send']>[0]): void {
    if (!this.#socket) throw new DOMException('The socket is not open yet.', 'InvalidStateError')
    this.#socket.send(data)
  }

  close(code?: number, reason?: string): void {
    if (this.#socket) this.#socket.close(code, reason)
    else if (!this.#closed) {
      this.#closed = true
      // These are the events of a socket that closes before it opens (WebSockets Standard, section 3.1).
      setTimeout(() => {
        this.dispatchEvent(new Event('error'))
        this.dispatchEvent(new CloseEvent('close', { code: 1006 }))
      })
    }
  }

  #handle(kind: Kind, given: Listener | null): void {
    this.removeEventListener(kind, this.#handlers.get(kind)?.listener ?? null)
    this.#handlers.delete(kind)
    if (!given) return
    const listener = (event: Event) => given.call(this, event)
    this.#handlers.set(kind, { given, listener })
    this.addEventListener(kind, listener)
  }

  #join(socket: WebSocket): void {
    this.#socket = socket
    socket.binaryType = this.#binaryType
    socket.addEventListener('open', () => this.dispatchEvent(new Event('open')))
    socket.addEventListener('error', () => this.dispatchEvent(new Event('error')))
    socket.addEventListener('message', ({ data, origin, lastEventId }) =>
      this.dispatchEvent(new MessageEvent('message', { data, origin, lastEventId })),
    )
    socket.addEventListener('close', ({ code, reason, wasClean }) =>
      this.dispatchEvent(new CloseEvent('close', { code, reason, wasClean })),
    )
  }

  static {
    const { prototype } = DeferredWebSocket
    for (const [name, value] of Object.entries({ CONNECTING: 0, OPEN: 1, CLOSING: 2, CLOSED: 3 }))
      Object.defineProperty(prototype, name, { value, enumerable: true })
    for (const kind of KINDS)
      Object.defineProperty(prototype, `on${kind}`, {
        get(this: DeferredWebSocket) {
          return this.#handlers.get(kind)?.given ?? null
        },
        set(this: DeferredWebSocket, given: unknown) {
          this.#handle(kind, typeof given === 'function' ? (given as Listener) : null)
        },
      })
    // This makes `instanceof WebSocket` hold.
    Object.setPrototypeOf(prototype, WebSocket.prototype)
  }
}
