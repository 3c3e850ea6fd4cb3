/**
 * One encoded message, made once for all its recipients: a whole WebSocket frame as a server sends it (RFC 6455 section
 * 5.2: final, unmasked), so that several frames can be joined into one write.
 */
export type Frame = Buffer

/** Why a player is gone. */
export type LeaveReason = 'left' | 'timeout' | 'kicked' | 'closed'

/** A player as the others in the room see them. */
export interface RoomPlayer {
  /** Short, and of this room only: `you`, `from`, `to` and `host` are such ids. */
  id: string
  /** Names the sender of binary frames; the smallest number that is free. */
  index: number
  /** The account; one account may be present twice. */
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
  | 'presence_too_large'
  | 'rate_limited'

/** Messages of the room, protocol 1 (contracts, section 8), but for `welcome`, which contains raw JSON. */
export type ServerMessage =
  | { t: 'join'; player: RoomPlayer }
  | { t: 'away' | 'back' | 'host'; id: string }
  | { t: 'leave'; id: string; reason: LeaveReason }
  | { t: 'msg'; from: string; type: string; data: unknown }
  | { t: 'state'; from: string; set: Record<string, unknown>; del: string[]; version: number }
  | { t: 'presence'; id: string; data: unknown }
  | { t: 'pong'; id: unknown; now: number }
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

/** The sender's index, little-endian, and the bytes as they came. */
export function binaryFrame(index: number, bytes: Buffer): Frame {
  const { frame, at } = frameFor(FINAL_BINARY, bytes.length + 2)
  frame.writeUInt16LE(index, at)
  bytes.copy(frame, at + 2)
  return frame
}

/** Frames one after the other; one alone is not copied. */
export const joinFrames = (frames: Frame[]): Buffer =>
  frames.length === 1 ? (frames[0] as Frame) : Buffer.concat(frames)

/** A frame with its header written, and where its payload begins. */
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
