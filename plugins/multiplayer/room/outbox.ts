import { type Frame, joinFrames } from './frames.ts'
import { Journal } from './journal.ts'
import type { Link, Member } from './member.ts'

/** One message of the room: to everyone, to everyone except one, or to one only. */
interface Entry {
  readonly ordinal: number
  readonly frame: Frame
  readonly except: Member | null
  readonly only: Member | null
  /** Whether the entry is part of the room's order: numbered, and replayed to a client that lost it. */
  readonly counted: boolean
}

/** A connection that ends: its remaining messages, and its close code. */
interface Parting {
  readonly link: Link
  readonly frames: Frame[]
  readonly code: number
  readonly reason: string
}

/**
 * The messages of a room that are not yet delivered, in order, and the latest delivered ones, for replay.
 *
 * A message costs one entry, however many players receive it: counts and replays are computed from the entries when a
 * player reconnects, not stored for each player. On delivery, players with the same messages get the same bytes.
 */
export class Outbox {
  readonly #members: ReadonlyMap<string, Member>
  readonly #journal: Journal
  /** The maximum number of frames that a resuming player may have missed. */
  readonly #mostMissed: number
  readonly #wake: () => void
  #ordinal = 0
  /** The number of counted entries to everyone, or to everyone except one. */
  #broadcasts = 0
  #pending: Entry[] = []
  #partings: Parting[] = []

  /**
   * @param most frames replayed to one player, and bytes kept for all players
   * @param wake called when the first message is waiting for delivery
   */
  constructor(members: ReadonlyMap<string, Member>, most: { frames: number; bytes: number }, wake: () => void) {
    this.#members = members
    this.#mostMissed = most.frames
    // The journal has twice the frames that one player may miss, since frames for other players take room too.
    this.#journal = new Journal({ frames: most.frames * 2, bytes: most.bytes })
    this.#wake = wake
  }

  get isEmpty(): boolean {
    return this.#pending.length === 0 && this.#partings.length === 0
  }

  /** Returns the number of the last frame that was sent to a player. */
  sequenceOf(member: Member): number {
    return this.#broadcasts + member.offset
  }

  /** Starts delivery to a player. @param sequence the number before that of the first frame */
  begin(member: Member, sequence = 0): void {
    member.offset = sequence - this.#broadcasts
    this.listen(member)
  }

  /** Starts delivery to a player's current connection. */
  listen(member: Member): void {
    member.since = this.#ordinal
    member.apartAt = this.#ordinal
  }

  tellAll(frame: Frame): void {
    this.#broadcasts++
    this.#add(frame, null, null, true)
  }

  tellOthers(sender: Member, frame: Frame): void {
    this.#broadcasts++
    this.#add(frame, sender, null, true)
    sender.offset--
    sender.apartAt = this.#ordinal
  }

  tell(member: Member, frame: Frame): void {
    this.#add(frame, null, member, true)
    member.offset++
    member.apartAt = this.#ordinal
  }

  /** Sends a response to one client only. It is delivered in sequence, but is not numbered. */
  answer(member: Member, frame: Frame): void {
    this.#add(frame, null, member, false)
    member.apartAt = this.#ordinal
  }

  /** Ends a connection after its pending messages and an optional last frame. */
  part(member: Member, link: Link, end: { code: number; reason: string; frame?: Frame }): void {
    const frames = this.#pending.filter((entry) => isFor(entry, member)).map(({ frame }) => frame)
    if (end.frame) frames.push(end.frame)
    if (this.isEmpty) this.#wake()
    this.#partings.push({ link, frames, code: end.code, reason: end.reason })
  }

  /**
   * Returns the frames of a player after a number, or null when some are gone, or that number was never reached. Valid
   * until the next message.
   */
  after(member: Member, sequence: number): Frame[] | null {
    const count = this.sequenceOf(member) - sequence
    return count < 0 || count > this.#mostMissed ? null : this.#journal.lastFor(member, count)
  }

  /** Returns the number of pending counted frames for a player. */
  pendingFor(member: Member): number {
    return this.#pending.filter((entry) => entry.counted && isFor(entry, member)).length
  }

  /** Seals all pending messages as one batch, without later ones. Null when there are none. */
  seal(): Batch | null {
    if (this.isEmpty) return null
    const batch = new Batch(this.#members, this.#pending, this.#partings)
    this.#pending = []
    this.#partings = []
    return batch
  }

  #add(frame: Frame, except: Member | null, only: Member | null, counted: boolean): void {
    const entry: Entry = { ordinal: ++this.#ordinal, frame, except, only, counted }
    if (this.isEmpty) this.#wake()
    this.#pending.push(entry)
    if (counted) this.#journal.add(frame, entry)
  }
}

/** The frames that a room delivers in one batch. */
export class Batch {
  readonly #members: ReadonlyMap<string, Member>
  readonly #entries: Entry[]
  readonly #partings: Parting[]

  constructor(members: ReadonlyMap<string, Member>, entries: Entry[], partings: Parting[]) {
    this.#members = members
    this.#entries = entries
    this.#partings = partings
  }

  /** The number of messages. */
  get size(): number {
    return this.#entries.length
  }

  /** Writes all frames of each connection in one piece. */
  deliver(): void {
    const first = this.#entries[0]?.ordinal
    if (first !== undefined) this.#write(first)
    for (const { link, frames, code, reason } of this.#partings) {
      if (frames.length > 0) link.write(joinFrames(frames))
      link.close(code, reason)
    }
  }

  #write(first: number): void {
    let common: Buffer | null = null
    for (const member of this.#members.values()) {
      if (!member.link) continue
      if (member.apartAt < first) {
        common ??= joined(this.#entries.filter((entry) => entry.only === null))
        if (common.length > 0) member.link.write(common)
      } else {
        const own = joined(this.#entries.filter((entry) => isFor(entry, member)))
        if (own.length > 0) member.link.write(own)
      }
    }
  }
}

/** More frames than any node sends to one player, but small enough that the numbers stay integers after many moves. */
const NUMBERS_A_NODE = 1e11
/** Two nodes may start from the same record, when a lease lapses. Different fences keep their numbers apart. */
const BY_FENCE = { distance: 1e8, values: 997 }

/** Returns the number before that of the first frame that a node sends after so many moves, under a fence. */
export const firstNumber = (moves: number, fence: number): number =>
  moves * NUMBERS_A_NODE + (fence % BY_FENCE.values) * BY_FENCE.distance

const NOTHING = Buffer.alloc(0)

const joined = (entries: Entry[]): Buffer =>
  entries.length === 0 ? NOTHING : joinFrames(entries.map(({ frame }) => frame))

/** Whether a player's current connection receives an entry. */
const isFor = (entry: Entry, member: Member): boolean =>
  entry.ordinal > member.since && (entry.only ? entry.only === member : entry.except !== member)
