import type { Socket } from 'node:net'

/** Collects the frames of one turn of the event loop, so that many questions share one system call. */
export class BatchedSocket {
  readonly socket: Socket
  #waiting: Buffer[] = []

  constructor(socket: Socket) {
    this.socket = socket
  }

  send(frame: Buffer): void {
    if (this.#waiting.push(frame) === 1) setImmediate(() => this.#flush())
  }

  /** Sends what is waiting, and nothing more. The other side may still send. */
  end(): void {
    this.#flush()
    this.socket.end()
  }

  /** Bytes that the other side has not taken. */
  get backlog(): number {
    return this.socket.writableLength
  }

  #flush(): void {
    const frames = this.#waiting
    this.#waiting = []
    if (frames.length === 0 || !this.socket.writable) return
    this.socket.write(frames.length === 1 ? (frames[0] as Buffer) : Buffer.concat(frames))
  }
}
