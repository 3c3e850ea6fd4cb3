import { TokenBucket } from './token-bucket.ts'

/** What a connection may send; part of `welcome`. */
export interface SendLimits {
  messagesPerSecond: number
  messageBurst: number
  /** The largest frame, and the largest that writes the state. Servers of an earlier version leave them out. */
  frameBytes?: number
  stateFrameBytes?: number
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

/** What a frame is. */
export interface FrameOptions {
  /** Whether it names players or a version of the state. */
  isBound?: boolean
  /** Whether it writes the state. */
  isState?: boolean
}

interface Kept {
  frame: string | ArrayBuffer
  bytes: number
  /** The number of messages as which the server counts it. */
  cost: number
  /** Whether it names players or a version, which mean something else after the place in the room is lost. */
  isBound: boolean
  isState: boolean
  isPing: boolean
}

/** The most bytes of frames that the server has not acknowledged. Then the oldest are dropped. */
const MOST_BYTES = 1024 * 1024
/** The bytes that the server counts as one message. */
const BYTES_A_MESSAGE = 16 * 1024
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
  /** The messages as which those that are sent count. */
  #sentCost = 0
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
   * @returns why it is not sent: the server would send the player away for it. Null otherwise
   */
  push(frame: string | ArrayBuffer, { isBound = false, isState = false }: FrameOptions = {}): SendRefusal | null {
    const kept = this.#keptOf(frame, { isBound, isState, isPing: false })
    const refusal = this.#refusal(kept)
    if (refusal) return refusal
    this.#given?.take(kept.cost)
    this.#frames.push(kept)
    this.#bytes += kept.bytes
    while (this.#bytes > MOST_BYTES && this.#frames.length > 1) this.#dropOldest()
    this.flush()
    return null
  }

  /** Sends a frame at once, before those that wait. It may be lost. */
  pushFirst(frame: string, { isPing = false } = {}): void {
    if (this.#socket?.readyState !== 1) return
    const kept = this.#keptOf(frame, { isBound: false, isState: false, isPing })
    this.#frames.splice(this.#sent, 0, kept)
    this.#bytes += kept.bytes
    this.#send(kept)
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
      this.#sendable?.leave(this.#window - this.#sentCost)
      this.#confirm(taken)
      dropped += Math.max(0, this.#lastDropped - taken)
    }
    const owed = this.#frames.filter(({ isPing }) => !isPing)
    // In another place, what was sent before may have arrived long ago, and would undo what others did since.
    // Its room may have a script by now, and take less.
    const waiting = this.#frames
      .slice(this.#sent)
      .filter((kept) => !kept.isPing && (isSamePlace || !kept.isBound) && kept.bytes <= this.#limitOf(kept))
    this.#frames = goesOn ? owed : waiting.slice(-MOST_TO_ANOTHER)
    dropped += owed.length - this.#frames.length
    this.#bytes = this.#frames.reduce((sum, { bytes }) => sum + bytes, 0)
    this.#first = (taken ?? 0) + 1
    this.#sent = 0
    this.#sentCost = 0
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
    this.#sendable?.leave(this.#window - this.#sentCost)
    this.#confirm(taken)
    this.flush()
  }

  /** Sends what waits, as far as the server takes it now. */
  flush(): void {
    if (this.#socket?.readyState !== 1) return
    for (let next = this.#frames[this.#sent]; next && this.#maySend(next); next = this.#frames[this.#sent]) {
      this.#send(next)
    }
    clearTimeout(this.#timer)
    if (this.#sent < this.#frames.length) this.#timer = setTimeout(() => this.flush(), DRAIN_MS)
  }

  get #window(): number {
    return this.#limits ? Math.max(1, Math.floor(this.#limits.messageBurst * MARGIN)) : Number.POSITIVE_INFINITY
  }

  #maySend({ cost }: Kept): boolean {
    return !this.#sendable || (this.#sendable.left >= cost && this.#sentCost + cost <= this.#window)
  }

  #send({ frame, cost }: Kept): void {
    this.#socket?.send(frame)
    this.#sent++
    this.#sentCost += cost
    this.#sendable?.take(cost)
    if (!this.#limits) this.#remove(this.#sent)
  }

  /** The most bytes of a frame. */
  #limitOf({ isState }: Kept): number {
    const { frameBytes = Number.POSITIVE_INFINITY, stateFrameBytes = frameBytes } = this.#limits ?? {}
    return isState ? stateFrameBytes : frameBytes
  }

  #refusal(kept: Kept): SendRefusal | null {
    const { bytes, cost } = kept
    const limit = this.#limitOf(kept)
    if (bytes > limit) return { code: 'too_large', limit, message: `A message has at most ${limit} bytes.` }
    if (!this.#given || this.#given.left >= cost) return null
    const { messagesPerSecond = 0 } = this.#limits ?? {}
    const message = `A player sends at most ${messagesPerSecond} messages a second.`
    return { code: 'rate_limited', limit: messagesPerSecond, message }
  }

  /** Removes the frames that the server has taken. */
  #confirm(taken: number): void {
    this.#remove(Math.min(this.#sent, Math.max(0, taken - this.#first + 1)))
  }

  /** Removes the first frames, which were sent. */
  #remove(count: number): void {
    for (const { bytes, cost } of this.#frames.splice(0, count)) {
      this.#bytes -= bytes
      this.#sentCost -= cost
    }
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

  #keptOf(frame: string | ArrayBuffer, kind: Pick<Kept, 'isBound' | 'isState' | 'isPing'>): Kept {
    const bytes = typeof frame === 'string' ? new TextEncoder().encode(frame).length : frame.byteLength
    // The server counts half of the burst at most.
    const most = Math.max(1, Math.floor((this.#limits?.messageBurst ?? 0) / 2))
    return { ...kind, frame, bytes, cost: Math.min(most, Math.max(1, Math.ceil(bytes / BYTES_A_MESSAGE))) }
  }
}
