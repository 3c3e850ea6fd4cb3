import { TokenBucket } from './token-bucket.ts'

/** What a connection may send; part of `welcome`. */
export interface SendLimits {
  messagesPerSecond: number
  messageBurst: number
  /** Servers of an earlier version leave it out. */
  frameBytes?: number
}

/** Why a frame is not sent, with the limit that it exceeds. */
export interface SendRefusal {
  code: 'too_large' | 'rate_limited'
  limit: number
  message: string
}

/** What `welcome` says about the frames of this client. Servers of an earlier version say nothing. */
interface Welcome {
  /** The number of this player's frames that the server has taken. */
  taken?: number
  limits?: SendLimits
}

interface Kept {
  frame: string | ArrayBuffer
  bytes: number
  /** Whether it names players or a version, which mean something else after the place in the room is lost. */
  isBound: boolean
  isPing: boolean
}

/** The most bytes of frames that the server has not acknowledged. Then the oldest are dropped. */
const MOST_BYTES = 1024 * 1024
/** The most frames that are sent again to a room in which this client has lost its place. */
const MOST_TO_ANOTHER = 100
/** The server measures the time between frames after the network has changed it. */
const MARGIN = 0.9
const DRAIN_MS = 50

/**
 * The frames of this client, until the server has acknowledged them. After a reconnection the server says how many it
 * took, and the rest is sent again: each exactly once, in order.
 *
 * No more frames are on their way than the server takes at once, because a network may hold them back and deliver all
 * together.
 */
export class SendQueue {
  #socket: Pick<WebSocket, 'send' | 'readyState'> | null = null
  /** In order: those sent by this socket, then those that wait. */
  #frames: Kept[] = []
  #sent = 0
  #bytes = 0
  /** The number of the first kept frame. The server counts from 1. */
  #first = 1
  /** The number of the last frame that was dropped after it was sent, and how many were dropped before. */
  #lastDropped = 0
  #dropped = 0
  /** Null: the server is of an earlier version, and acknowledges nothing. */
  #limits: SendLimits | null = null
  /** The frames that the game may give now, and those that may be sent now. */
  #given: TokenBucket | null = null
  #sendable: TokenBucket | null = null
  #timer: ReturnType<typeof setTimeout> | undefined

  /**
   * Adds a frame.
   *
   * @param isBound whether it names players or a version of the state
   * @returns why it is not sent: the server would send the player away for it. Null otherwise
   */
  push(frame: string | ArrayBuffer, isBound = false): SendRefusal | null {
    const refusal = this.#refusal(frame)
    if (refusal) return refusal
    this.#given?.take(1)
    this.#frames.push(keptOf(frame, isBound, false))
    this.#bytes += sizeOf(frame)
    while (this.#bytes > MOST_BYTES) this.#dropOldest()
    this.flush()
    return null
  }

  /** Sends a frame at once, before those that wait. It may be lost. */
  pushFirst(frame: string, { isPing = false } = {}): void {
    if (this.#socket?.readyState !== 1) return
    this.#frames.splice(this.#sent, 0, keptOf(frame, false, isPing))
    this.#bytes += sizeOf(frame)
    this.#send()
  }

  /**
   * Continues with a socket that was welcomed. Nothing is sent before `flush`.
   *
   * @param isSamePlace whether the client has resumed, so that the server's count concerns these frames
   * @returns the number of frames that are given up, and have not arrived as far as this client knows
   */
  connect(socket: Pick<WebSocket, 'send' | 'readyState'>, welcome: Welcome, isSamePlace: boolean): number {
    const { taken, limits } = welcome
    const isCounted = taken !== undefined && limits !== undefined
    const goesOn = isCounted && isSamePlace
    let dropped = this.#dropped
    this.#socket = socket
    this.#limits = isCounted ? limits : null
    if (!goesOn) {
      this.#given = isCounted ? new TokenBucket(limits.messagesPerSecond, limits.messageBurst) : null
      this.#sendable = isCounted ? new TokenBucket(limits.messagesPerSecond, this.#window) : null
    } else {
      // What was on its way may have arrived just before the connection was lost.
      this.#sendable?.leave(this.#window - this.#sent)
      this.#confirm(taken)
      dropped += Math.max(0, this.#lastDropped - taken)
    }
    const owed = this.#frames.filter(({ isPing }) => !isPing)
    // In another place, what was sent before may have arrived long ago, and would undo what others did since.
    const waiting = this.#frames.slice(this.#sent).filter(({ isPing, isBound }) => !isPing && (isSamePlace || !isBound))
    this.#frames = goesOn ? owed : waiting.slice(-MOST_TO_ANOTHER)
    dropped += owed.length - this.#frames.length
    this.#bytes = this.#frames.reduce((sum, { bytes }) => sum + bytes, 0)
    this.#first = (taken ?? 0) + 1
    this.#sent = 0
    this.#dropped = 0
    this.#lastDropped = 0
    return dropped
  }

  /** Stops sending until the next `connect`. */
  disconnect(): void {
    this.#socket = null
    clearTimeout(this.#timer)
    // A server of an earlier version does not say what it took.
    if (!this.#limits) this.#remove(this.#sent)
  }

  /** Handles an acknowledgement. @param taken the number of frames that the server has taken */
  acknowledge(taken: number): void {
    // The acknowledged frames may have arrived together just now, and have used up what the server takes at once.
    this.#sendable?.leave(this.#window - this.#sent)
    this.#confirm(taken)
    this.flush()
  }

  /** Sends what waits, as far as the server takes it now. */
  flush(): void {
    if (this.#socket?.readyState !== 1) return
    while (this.#sent < this.#frames.length && this.#maySend()) this.#send()
    clearTimeout(this.#timer)
    if (this.#sent < this.#frames.length) this.#timer = setTimeout(() => this.flush(), DRAIN_MS)
  }

  get #window(): number {
    return this.#limits ? Math.max(1, Math.floor(this.#limits.messageBurst * MARGIN)) : Number.POSITIVE_INFINITY
  }

  #maySend(): boolean {
    return !this.#sendable || (this.#sendable.left >= 1 && this.#sent < this.#window)
  }

  #send(): void {
    this.#socket?.send(this.#frames[this.#sent]?.frame as string)
    this.#sent++
    this.#sendable?.take(1)
    if (!this.#limits) this.#remove(this.#sent)
  }

  #refusal(frame: string | ArrayBuffer): SendRefusal | null {
    const { frameBytes = Number.POSITIVE_INFINITY, messagesPerSecond = 0 } = this.#limits ?? {}
    if (exceeds(frame, frameBytes)) {
      return { code: 'too_large', limit: frameBytes, message: `A message has at most ${frameBytes} bytes.` }
    }
    if (!this.#given || this.#given.left >= 1) return null
    const message = `A player sends at most ${messagesPerSecond} messages a second.`
    return { code: 'rate_limited', limit: messagesPerSecond, message }
  }

  /** Removes the frames that the server has taken. */
  #confirm(taken: number): void {
    this.#remove(Math.min(this.#sent, Math.max(0, taken - this.#first + 1)))
  }

  /** Removes the first frames, which were sent. */
  #remove(count: number): void {
    for (const { bytes } of this.#frames.splice(0, count)) this.#bytes -= bytes
    this.#first += count
    this.#sent -= count
  }

  #dropOldest(): void {
    if (this.#sent > 0) {
      this.#lastDropped = this.#first
      this.#remove(1)
    } else {
      this.#bytes -= this.#frames.shift()?.bytes ?? 0
      this.#dropped++
    }
  }
}

const sizeOf = (frame: string | ArrayBuffer): number => (typeof frame === 'string' ? frame.length : frame.byteLength)

/** A character has at most three bytes. */
const exceeds = (frame: string | ArrayBuffer, bytes: number): boolean =>
  sizeOf(frame) > bytes ||
  (typeof frame === 'string' && frame.length * 3 > bytes && new TextEncoder().encode(frame).length > bytes)

const keptOf = (frame: string | ArrayBuffer, isBound: boolean, isPing: boolean): Kept => ({
  frame,
  isBound,
  isPing,
  bytes: sizeOf(frame),
})
