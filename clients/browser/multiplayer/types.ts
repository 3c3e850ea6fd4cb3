/** A player in the room, this one included. */
export interface Player {
  /** Short, and of this room only. */
  readonly id: string
  readonly index: number
  /** The account: stable, to key saves on. One account may be present twice. */
  readonly sub: string
  readonly name: string
  readonly imageUrl: string | null
  /** The player's last `presence` data. */
  data: unknown
  readonly joinedAt: string
  /** Connection lost; may come back. */
  away: boolean
}

export interface RoomEvents {
  message: [type: string, data: unknown, from: Player]
  /** Raw bytes of another player. */
  binary: [bytes: Uint8Array, from: Player | undefined]
  join: [player: Player]
  leave: [player: Player, reason: string]
  away: [player: Player]
  back: [player: Player]
  host: [player: Player | undefined]
  /** The shared state changed, by anyone: what was set, which keys went, and by whom. */
  state: [set: Record<string, unknown>, del: string[], from: Player | undefined]
  presence: [player: Player, data: unknown]
  /** The room refused something, such as a state write of an older version. */
  error: [error: { code: string; message: string; version?: number }]
  /** The connection is lost; being brought back. */
  reconnecting: []
  /** Back. `missed` is false when all that happened meanwhile was caught up with; else the room was begun anew. */
  reconnected: [info: { missed: boolean }]
  /** Over: exactly once, in the end. `left`, `kicked`, `closed`, `lost`, or a code of `RoomError`. */
  left: [reason: string]
}

export type Listener<Name extends keyof RoomEvents> = (...values: RoomEvents[Name]) => void

/** Why a room could not be entered. `auth_required` comes with `signIn`, where to send the player. */
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
  /** Origin of the game; default: this page's. */
  origin?: string
  /** How long a lost connection is tried to be brought back before `left` is said, in ms. Default: two minutes. */
  giveUpAfterMs?: number
}

/** The state that all players of a room share. Reads are of what the room has agreed on; writes take effect there. */
export interface SharedState {
  readonly version: number
  get(key: string): unknown
  has(key: string): boolean
  keys(): IterableIterator<string>
  entries(): IterableIterator<[string, unknown]>
  /** @param options `if`: write only while the version is still this one, else an `error` of code `conflict` */
  set(key: string, value: unknown, options?: { if?: number }): void
  /** Several keys in one write. */
  assign(values: Record<string, unknown>, options?: { if?: number }): void
  delete(...keys: string[]): void
}

/** A browser can't read why an upgrade was refused; the same address says so when it is fetched. */
export async function refusalReason(url: URL): Promise<RoomError> {
  try {
    const response = await fetch(url, { credentials: 'same-origin', cache: 'no-store' })
    const { error, signIn } = await response.json()
    // 426: nothing speaks against it now, so it was the network.
    const code = response.status === 426 ? 'unreachable' : typeof error === 'string' ? error : error.code
    const status = response.status === 426 ? 0 : response.status
    return new RoomError(code, status, error?.message ?? `The room can't be entered: ${code}.`, signIn)
  } catch {
    return new RoomError('unreachable', 0, 'The server can not be reached.')
  }
}
