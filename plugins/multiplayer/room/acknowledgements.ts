import { frameOf } from './frames.ts'
import type { Member } from './member.ts'
import type { Outbox } from './outbox.ts'

/** A client waits for an acknowledgement of what it sent, so it must not have to send its whole burst before. */
const MOST_UNACKNOWLEDGED = 64

/** Counts the frames of players, so that a client that lost its connection knows what to send again. */
export class Acknowledgements {
  readonly #outbox: Outbox
  readonly #every: number

  /** @param messageBurst the most messages that a client sends at once */
  constructor(outbox: Outbox, messageBurst: number) {
    this.#outbox = outbox
    this.#every = Math.max(1, Math.min(MOST_UNACKNOWLEDGED, Math.floor(messageBurst / 2)))
  }

  /** Counts a frame. @param cost the number of messages as which it counts */
  take(member: Member, cost: number): void {
    member.taken++
    member.unacknowledgedCost += cost
    if (member.unacknowledgedCost >= this.#every) this.send(member)
  }

  /** Tells a client what the room has taken since the last time. */
  send(member: Member): void {
    if (member.taken === member.acknowledged) return
    member.acknowledged = member.taken
    member.unacknowledgedCost = 0
    if (member.acks && member.link) this.#outbox.answer(member, frameOf({ t: 'ack', taken: member.taken }))
  }
}
