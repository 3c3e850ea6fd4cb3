/** What a frame is. The numbers are the protocol between a process and the hub. */
export const KIND = {
  /** To the hub: a message for a channel. From the hub: that message. */
  publish: 1,
  subscribe: 2,
  unsubscribe: 3,
  /** To the hub: a call of `BusState` or `ping`, as JSON `[method, …arguments]`. */
  call: 4,
  /** From the hub: the result of what has the same number, as JSON; nothing for a publish or a subscription. */
  result: 5,
  /** From the hub, which is about to end: it answers what it has been asked, and nothing asked later. */
  goodbye: 6,
} as const

/** One frame: its length without these four bytes, its kind, its number, the length of the channel, channel, body. */
export interface Frame {
  kind: number
  /** Relates a result to its question; 0 for messages from the hub. */
  id: number
  channel: string
  body: Buffer
}

const HEADER = 11
/** A longer frame comes from something else than a process of this platform. A message has at most 1 MiB. */
const LONGEST = 64 * 1024 * 1024

const NOTHING = Buffer.alloc(0)

export function encode(kind: number, id: number, channel: string, body: Buffer = NOTHING): Buffer {
  const length = Buffer.byteLength(channel)
  const frame = Buffer.allocUnsafe(HEADER + length + body.length)
  frame.writeUInt32LE(frame.length - 4, 0)
  frame.writeUInt8(kind, 4)
  frame.writeUInt32LE(id, 5)
  frame.writeUInt16LE(length, 9)
  frame.write(channel, HEADER)
  body.copy(frame, HEADER + length)
  return frame
}

/** Cuts a stream of bytes into frames. */
export class FrameReader {
  readonly #chunks: Buffer[] = []
  #size = 0
  /** The size at which the next frame is complete. */
  #wanted = 4

  /** Passes on the frames that are complete with these bytes. @throws when the bytes are no frames */
  read(chunk: Buffer, take: (frame: Frame) => void): void {
    this.#chunks.push(chunk)
    this.#size += chunk.length
    if (this.#size < this.#wanted) return
    const bytes = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks)
    let at = 0
    this.#wanted = 4
    while (bytes.length - at >= 4) {
      const length = bytes.readUInt32LE(at)
      if (length < HEADER - 4 || length > LONGEST) throw new Error('The bus got bytes that are no frame.')
      if (bytes.length - at < 4 + length) {
        this.#wanted = 4 + length
        break
      }
      take(decode(bytes.subarray(at, at + 4 + length)))
      at += 4 + length
    }
    this.#chunks.length = 0
    this.#size = bytes.length - at
    if (this.#size > 0) this.#chunks.push(bytes.subarray(at))
  }
}

function decode(frame: Buffer): Frame {
  const body = HEADER + frame.readUInt16LE(9)
  return {
    kind: frame.readUInt8(4),
    id: frame.readUInt32LE(5),
    channel: frame.toString('utf8', HEADER, body),
    body: frame.subarray(body),
  }
}
