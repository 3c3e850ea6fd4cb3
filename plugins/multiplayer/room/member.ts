import type { RoomPlayer } from './frames.ts'

/** The way to a connected client. Neither method calls back into the room before it has returned. */
export interface Link {
  /** Whole frames, one or several. The same buffer goes to many links: it must not be changed. */
  write(frames: Buffer): void
  /** Ends the connection with a WebSocket close code; nothing is written after it. */
  close(code: number, reason: string): void
}

/** The account of a member. */
export interface Account {
  sub: string
  name: string
  imageUrl: string | null
  /** Not signed in: `sub` is made up for this visit. */
  guest: boolean
}

/** A player of a room, connected or away. */
export class Member {
  readonly account: Account
  readonly id: string
  readonly index: number
  readonly joinedAt: Date
  /** The token with which this player can come back. */
  readonly resumeToken: string
  readonly budget: Budget
  data: unknown = null
  /** Null while the socket is away. */
  link: Link | null
  /** While away: until when the place is kept, in ms since 1970. */
  awayUntil = 0

  // The outbox's fields for each player (see there).
  /** Ordinal of the last entry before this player, or this player's present connection, came. */
  since = 0
  /** Ordinal of the last entry that was not for this player as for everyone. */
  apartAt = 0
  /** Added to the room's count of broadcasts, gives the number of frames of this player. */
  offset = 0
  /** Number of the last frame written before the socket was lost. */
  sequenceAtDrop = 0

  constructor(
    fields: Pick<Member, 'account' | 'id' | 'index' | 'joinedAt' | 'resumeToken' | 'budget' | 'link'> & {
      data?: unknown
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
  }

  /** As the others see them. */
  get player(): RoomPlayer {
    const { sub, name, imageUrl } = this.account
    const { id, index, data, joinedAt } = this
    return { id, index, sub, name, imageUrl, data, joinedAt: joinedAt.toISOString() }
  }
}

/** A token bucket: so many messages a second, with bursts. */
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

  /** Takes one. @param now in ms since 1970  @returns false when there is none left */
  take(now: number): boolean {
    this.#left = Math.min(this.#burst, this.#left + Math.max(0, now - this.#at) * this.#perMs)
    this.#at = now
    if (this.#left < 1) return false
    this.#left--
    return true
  }
}
