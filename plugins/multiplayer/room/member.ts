import type { Frame, RoomPlayer } from './frames.ts'

/** The way to a connected client. Neither method calls back into the room before it has returned. */
export interface Link {
  send(frame: Frame): void
  /** Ends the connection with a WebSocket close code; nothing is sent after it. */
  close(code: number, reason: string): void
}

/** Who comes in. */
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
  /** What lets exactly this player come back. */
  readonly resumeToken: string
  readonly replay: Replay
  readonly budget: Budget
  data: unknown = null
  /** Null while the socket is away. */
  link: Link | null
  /** While away: until when the place is kept, in ms since 1970. */
  awayUntil = 0

  constructor(
    fields: Pick<Member, 'account' | 'id' | 'index' | 'joinedAt' | 'resumeToken' | 'replay' | 'budget'> & {
      link: Link
    },
  ) {
    this.account = fields.account
    this.id = fields.id
    this.index = fields.index
    this.joinedAt = fields.joinedAt
    this.resumeToken = fields.resumeToken
    this.replay = fields.replay
    this.budget = fields.budget
    this.link = fields.link
  }

  /** As the others see them. */
  get player(): RoomPlayer {
    const { sub, name, imageUrl } = this.account
    const { id, index, data, joinedAt } = this
    return { id, index, sub, name, imageUrl, data, joinedAt: joinedAt.toISOString() }
  }

  /** Sends what belongs to the order of the room: it is numbered, and repeated to a client that lost it. */
  tell(frame: Frame): void {
    this.replay.push(frame)
    this.link?.send(frame)
  }
}

/** The last frames that a player was sent, numbered from 1, so that nothing is lost or doubled over a reconnection. */
export class Replay {
  /** Number of the last frame. */
  sequence = 0
  /** Number of the last frame sent before the socket was lost. */
  sequenceAtDrop = 0
  readonly #maxFrames: number
  readonly #maxBytes: number
  #frames: Frame[] = []
  #first = 0
  #bytes = 0

  constructor(maxFrames: number, maxBytes: number) {
    this.#maxFrames = maxFrames
    this.#maxBytes = maxBytes
  }

  push(frame: Frame): void {
    this.sequence++
    this.#frames.push(frame)
    this.#bytes += frame.data.length
    while (this.#frames.length - this.#first > this.#maxFrames || this.#bytes > this.#maxBytes) {
      this.#bytes -= (this.#frames[this.#first] as Frame).data.length
      this.#first++
    }
    // Cut now and then, not at each frame: moving the rest costs.
    if (this.#first > this.#maxFrames) {
      this.#frames = this.#frames.slice(this.#first)
      this.#first = 0
    }
  }

  /** The frames after one, or null when some of them are gone, or it was never sent. */
  after(sequence: number): Frame[] | null {
    const count = this.sequence - sequence
    if (count < 0 || count > this.#frames.length - this.#first) return null
    return count === 0 ? [] : this.#frames.slice(-count)
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
