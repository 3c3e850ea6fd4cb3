import type { Link, Member } from './room/member.ts'
import type { Room } from './room/room.ts'

/**
 * How a connection ended: orderly by the player, permanently by the rules, with its page, which may be loaded again, or
 * lost, so that it may resume.
 */
export type DisconnectReason = 'left' | 'closed' | 'unloaded' | 'lost'

/** A connection's membership of a room, which may run on this node or on another. */
export interface Membership {
  text(text: string): void
  bytes(bytes: Buffer): void
  /** Counts a WebSocket ping, so that a flood of pings is limited like a flood of messages. */
  ping(): void
  end(ending: DisconnectReason): void
}

/** A membership of a room on this node. */
export class LocalMembership implements Membership {
  readonly #room: Room
  readonly #member: Member
  readonly #link: Link

  constructor(room: Room, member: Member, link: Link) {
    this.#room = room
    this.#member = member
    this.#link = link
  }

  text(text: string): void {
    // A player who has resumed has another connection now.
    if (this.#member.link === this.#link) this.#room.receive(this.#member, text)
  }

  bytes(bytes: Buffer): void {
    if (this.#member.link === this.#link) this.#room.receiveBinary(this.#member, bytes)
  }

  ping(): void {
    if (this.#member.link === this.#link) this.#room.spend(this.#member)
  }

  end(ending: DisconnectReason): void {
    if (ending === 'lost' || ending === 'unloaded') {
      this.#room.drop(this.#member, this.#link, ending === 'unloaded')
    } else this.#room.leave(this.#member, this.#link, ending)
  }
}
