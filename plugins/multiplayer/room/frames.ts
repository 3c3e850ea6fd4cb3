/** One message ready for the wire, made once whatever the number of its recipients. */
export interface Frame {
  readonly data: Buffer
  readonly binary: boolean
}

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
  /** What the player last said with `presence`. */
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

/** What the room says, protocol 1 (contracts, section 8), but for `welcome`, which holds raw JSON. */
export type ServerMessage =
  | { t: 'join'; player: RoomPlayer }
  | { t: 'away' | 'back' | 'host'; id: string }
  | { t: 'leave'; id: string; reason: LeaveReason }
  | { t: 'msg'; from: string; type: string; data: unknown }
  | { t: 'state'; from: string; set: Record<string, unknown>; del: string[]; version: number }
  | { t: 'presence'; id: string; data: unknown }
  | { t: 'pong'; id: unknown; now: number }
  | { t: 'error'; code: ErrorCode; message: string; version?: number }

export const textFrame = (text: string): Frame => ({ data: Buffer.from(text), binary: false })

export const frameOf = (message: ServerMessage): Frame => textFrame(JSON.stringify(message))

/** The sender's index, little-endian, and the bytes as they came. */
export function binaryFrame(index: number, bytes: Buffer): Frame {
  const data = Buffer.allocUnsafe(bytes.length + 2)
  data.writeUInt16LE(index, 0)
  bytes.copy(data, 2)
  return { data, binary: true }
}
