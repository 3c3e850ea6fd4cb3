import type { RoomPlayer } from './frames.ts'

/** The connection to a client. Its methods never call the room synchronously. */
export interface Link {
  /** Writes one or several whole frames. Many links share the buffer, so it must not be changed. */
  write(frames: Buffer): void
  /** Ends the connection with a WebSocket close code. Nothing is written after it. */
  close(code: number, reason: string): void
}

/** The account of a member. */
export interface Account {
  sub: string
  name: string
  imageUrl: string | null
  /** Whether the player is not signed in. `sub` is then generated for this visit. */
  guest: boolean
}

/** A player of a room, connected or away. */
export class Member {
  /** A player may get another name or picture meanwhile. */
  account: Account
  readonly id: string
  readonly index: number
  readonly joinedAt: Date
  /** The token with which this player can resume. */
  resumeToken: string
  readonly budget: Budget
  data: unknown = null
  /** Null while the socket is away. */
  link: Link | null
  /** When the socket was lost, and until when the place is kept, in ms since 1970. */
  awaySince = 0
  awayUntil = 0
  /** Whether the player's page was closed or loaded again, so that a short while shows which. */
  hasUnloaded = false

  /** The number of frames that the room has taken from this player, over all connections. */
  taken: number
  /** The value of `taken` of which the client knows, and whether the client asks for it. */
  acknowledged: number
  /** The messages as which the frames after `acknowledged` count. */
  unacknowledgedCost = 0
  acks = false

  // The outbox uses these fields for each player (see there).
  /** The ordinal of the last entry before this player, or their current connection, joined. */
  since = 0
  /** The ordinal of the last entry whose delivery to this player differed from the others. */
  apartAt = 0
  /** The number of this player's frames minus the room's count of broadcasts. */
  offset = 0
  /** The number of the last frame that was written before the socket was lost. */
  sequenceAtDrop = 0

  constructor(
    fields: Pick<Member, 'account' | 'id' | 'index' | 'joinedAt' | 'resumeToken' | 'budget' | 'link'> & {
      data?: unknown
      taken?: number | undefined
    },
  ) {
    this.account = fields.account
    this.id = fields.id
    this.index = fields.index
    this.joinedAt = fields.joinedAt
    this.resumeToken = fields.resumeToken
    this.budget = fields.budget
    this.link = fields.link
    this.data = fields.data ?? null
    this.taken = fields.taken ?? 0
    this.acknowledged = this.taken
  }

  /** The player in the form that the others receive. */
  get player(): RoomPlayer {
    const { sub, name, imageUrl } = this.account
    const { id, index, data, joinedAt } = this
    return { id, index, sub, name, imageUrl, data, joinedAt: joinedAt.toISOString() }
  }
}

/** A token bucket: a number of messages per second, with bursts. */
export class Budget {
  readonly #perMs: number
  readonly #burst: number
  #left: number
  #at: number

  constructor(perSecond: number, burst: number, now: number) {
    this.#perMs = perSecond / 1000
    this.#burst = burst
    this.#left = burst
    this.#at = now
  }

  /** Takes tokens. @param now in ms since 1970 @returns false when there are not so many left */
  take(now: number, count: number): boolean {
    this.#left = Math.min(this.#burst, this.#left + Math.max(0, now - this.#at) * this.#perMs)
    this.#at = now
    if (this.#left < count) return false
    this.#left -= count
    return true
  }
}
