/**
 * One encoded message, made once for all its recipients: a whole WebSocket frame as a server sends it (RFC 6455 section
 * 5.2: final, unmasked), so that several frames can be joined into one write.
 */
export type Frame = Buffer

/** The reason why a player left. */
export type LeaveReason = 'left' | 'timeout' | 'kicked' | 'closed'

/** A player in the form that the others in the room receive. */
export interface RoomPlayer {
  /** A short id that is valid only in this room. `you`, `from`, `to` and `host` are such ids. */
  id: string
  /** Identifies the sender of binary frames. It is the smallest free number. */
  index: number
  /** The account. One account may be present twice. */
  sub: string
  name: string
  imageUrl: string | null
  /** The player's last `presence` data. */
  data: unknown
  joinedAt: string
}

export type ErrorCode =
  | 'invalid_message'
  | 'not_host'
  | 'no_such_player'
  | 'conflict'
  | 'state_too_large'
  | 'read_only'
  | 'presence_too_large'
  | 'rate_limited'

/** Messages of the room in protocol 1, except `welcome`, which contains raw JSON. */
export type ServerMessage =
  | { t: 'join'; player: RoomPlayer }
  | { t: 'away' | 'back' | 'host'; id: string }
  | { t: 'leave'; id: string; reason: LeaveReason }
  | { t: 'msg'; from: string; type: string; data: unknown }
  | { t: 'state'; from: string | null; set: Record<string, unknown>; del: string[]; version: number }
  | { t: 'presence'; id: string; data: unknown }
  | { t: 'profile'; id: string; name: string; imageUrl: string | null }
  | { t: 'pong'; id: unknown; now: number }
  | { t: 'ack'; taken: number }
  | { t: 'error'; code: ErrorCode; message: string; version?: number }

const FINAL_TEXT = 0x81
const FINAL_BINARY = 0x82

export function textFrame(text: string): Frame {
  const length = Buffer.byteLength(text)
  const { frame, at } = frameFor(FINAL_TEXT, length)
  frame.write(text, at)
  return frame
}

export const frameOf = (message: ServerMessage): Frame => textFrame(JSON.stringify(message))

/** Creates a binary frame: the sender's index, little-endian, and the unchanged bytes. */
export function binaryFrame(index: number, bytes: Buffer): Frame {
  const { frame, at } = frameFor(FINAL_BINARY, bytes.length + 2)
  frame.writeUInt16LE(index, at)
  bytes.copy(frame, at + 2)
  return frame
}

/** Concatenates frames. A single frame is not copied. */
export const joinFrames = (frames: Frame[]): Buffer =>
  frames.length === 1 ? (frames[0] as Frame) : Buffer.concat(frames)

/** Allocates a frame with its header, and returns the position of its payload. */
function frameFor(opcode: number, length: number): { frame: Frame; at: number } {
  const at = length < 126 ? 2 : length < 65_536 ? 4 : 10
  const frame = Buffer.allocUnsafe(at + length)
  frame[0] = opcode
  if (at === 2) {
    frame[1] = length
  } else if (at === 4) {
    frame[1] = 126
    frame.writeUInt16BE(length, 2)
  } else {
    frame[1] = 127
    frame.writeUInt32BE(0, 2)
    frame.writeUInt32BE(length, 6)
  }
  return { frame, at }
}
