/** A player in the room. The own player is one of them. */
export interface Player {
  /** A short id that is valid in this room only. */
  readonly id: string
  readonly index: number
  /** The account's stable id, usable as the key of saved games. One account may be present twice. */
  readonly sub: string
  readonly name: string
  readonly imageUrl: string | null
  /** The player's last `presence` data. */
  data: unknown
  readonly joinedAt: string
  /** Whether the connection is lost; the player may return. */
  away: boolean
}

export interface RoomEvents {
  /** A message of another player; `from` is null for one of the room's script. */
  message: [type: string, data: unknown, from: Player | null]
  /** Another player sent raw bytes, or the room's script, when `from` is null. */
  binary: [bytes: Uint8Array, from: Player | null | undefined]
  join: [player: Player]
  leave: [player: Player, reason: string]
  away: [player: Player]
  back: [player: Player]
  host: [player: Player | undefined]
  /** A player changed the shared state: the keys set, the keys deleted, and the player. */
  state: [set: Record<string, unknown>, del: string[], from: Player | undefined]
  presence: [player: Player, data: unknown]
  /** A player has another name or picture from now on. */
  profile: [player: Player]
  /**
   * The room refused an operation, such as a state write based on an older version. `too_large` and `rate_limited` are
   * refused before they are sent; `limit` is then the limit, in bytes or messages a second.
   */
  error: [error: { code: string; message: string; version?: number; limit?: number }]
  /** The connection is lost, and the room reconnects. */
  reconnecting: []
  /**
   * The room has reconnected. `missed` is false when all missed frames were replayed. Otherwise the room started over, and
   * the events that follow tell what is different: `leave` (reason `gone`), `join`, `host`, `state` and others.
   *
   * `dropped` is the number of own messages that are given up, and have not arrived as far as the client knows. It is 0 as
   * long as the player keeps the place in the room.
   */
  reconnected: [info: { missed: boolean; dropped: number }]
  /**
   * The session in the room has ended; dispatched exactly once. The reason is `left` (by `leave()`), `kicked`, `replaced`
   * (by another tab or device of the player), `rate_limited`, `too_large`, `signed_out`, `suspended`, `room_failed` (the
   * room's script), `gone` (the game), `closed` (the game no longer admits the player), `lost` (no connection), or another
   * code of `RoomError`.
   */
  left: [reason: string]
}

export type Listener<Name extends keyof RoomEvents> = (...values: RoomEvents[Name]) => void

/** Explains why a player could not enter a room. With `auth_required`, `signIn` is the address of the sign-in. */
export class RoomError extends Error {
  override name = 'RoomError'
  readonly code: string
  readonly status: number
  readonly signIn: string | undefined

  constructor(code: string, status: number, message: string, signIn?: string) {
    super(message)
    this.code = code
    this.status = status
    this.signIn = signIn
  }
}

export interface JoinOptions {
  /** The game's origin. Default: this page's */
  origin?: string
  /** How long the room tries to reconnect before it emits `left`, in ms. Default: two minutes */
  giveUpAfterMs?: number
}

/**
 * The state that all players of a room share. Reads return the state that the server has confirmed; writes take effect
 * on the server.
 */
export interface SharedState {
  readonly version: number
  get(key: string): unknown
  has(key: string): boolean
  keys(): IterableIterator<string>
  entries(): IterableIterator<[string, unknown]>
  /** @param options `if`: writes only at this version, else the room emits an `error` of code `conflict` */
  set(key: string, value: unknown, options?: { if?: number }): void
  /** Sets several keys in one write. */
  assign(values: Record<string, unknown>, options?: { if?: number }): void
  delete(...keys: string[]): void
}

/** The time in which a server answers a request. */
const LONGEST_ANSWER_MS = 10_000

/**
 * Fetches the reason of a refused upgrade: a browser can't read it from the upgrade, but can fetch it from the same
 * URL.
 */
export async function refusalReason(url: URL): Promise<RoomError> {
  try {
    // A network that lost the upgrade may swallow this request too.
    const signal = AbortSignal.timeout(LONGEST_ANSWER_MS)
    const response = await fetch(url, { credentials: 'same-origin', cache: 'no-store', signal })
    const { error, signIn } = await response.json()
    // A 426 means that the server refuses nothing now, so the network failed, or the room took too long.
    if (response.status === 426) return new RoomError('unreachable', 0, 'The room did not answer in time.')
    const code = typeof error === 'string' ? error : error.code
    return new RoomError(code, response.status, error?.message ?? `The room can't be entered: ${code}.`, signIn)
  } catch {
    return new RoomError('unreachable', 0, 'The server cannot be reached.')
  }
}
