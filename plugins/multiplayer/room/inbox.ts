import type { Clock } from '../../../core/clock.ts'
import type { Acknowledgements } from './acknowledgements.ts'
import type { Actions } from './actions.ts'
import { binaryFrame, type Frame, frameOf } from './frames.ts'
import { CLOSE, costOf, frameLimits, type RoomLimits } from './limits.ts'
import type { Member } from './member.ts'
import { parseMessage } from './messages.ts'
import type { Outbox } from './outbox.ts'
import type { ScriptEvents } from './script-events.ts'

/** The room of an inbox. */
interface Receiver {
  readonly isFrozen: boolean
  readonly script: ScriptEvents | null
  /** The number of received messages. */
  taken: number
  /** Removes a player who broke a rule, and closes the connection. */
  expel(member: Member, end: { code: number; reason: string; frame?: Frame }): void
}

/** Takes the frames of players within the limits of size and rate. */
export class Inbox {
  readonly #room: Receiver
  readonly #outbox: Outbox
  readonly #actions: Actions
  readonly #acknowledgements: Acknowledgements
  readonly #limits: RoomLimits
  readonly #clock: Clock

  constructor(
    room: Receiver,
    parts: {
      outbox: Outbox
      actions: Actions
      acknowledgements: Acknowledgements
      limits: RoomLimits
      clock: Clock
    },
  ) {
    this.#room = room
    this.#outbox = parts.outbox
    this.#actions = parts.actions
    this.#acknowledgements = parts.acknowledgements
    this.#limits = parts.limits
    this.#clock = parts.clock
  }

  /** Relays binary data from a player to everyone else without parsing it, or gives it to the script. */
  receiveBinary(member: Member, bytes: Buffer): void {
    const { script } = this.#room
    const cost = costOf(bytes.length, this.#limits)
    if (!this.spend(member, cost)) return
    if (bytes.length > frameLimits(this.#limits, script !== null).frameBytes) {
      this.#refuseSize(member)
      return
    }
    this.#acknowledgements.take(member, cost)
    script?.binary(member.id, bytes)
    if (script?.relay ?? true) this.#outbox.tellOthers(member, binaryFrame(member.index, bytes))
  }

  /** Handles a text frame from a player. */
  receive(member: Member, text: string): void {
    const bytes = Buffer.byteLength(text)
    const cost = costOf(bytes, this.#limits)
    if (!this.spend(member, cost)) return
    const message = parseMessage(text)
    const { frameBytes, stateFrameBytes } = frameLimits(this.#limits, this.#room.script !== null)
    const isState = typeof message !== 'string' && message.t === 'state'
    if (bytes > (isState ? stateFrameBytes : frameBytes)) {
      this.#refuseSize(member)
      return
    }
    this.#acknowledgements.take(member, cost)
    const fault =
      typeof message === 'string' ? { code: 'invalid_message' as const, message } : this.#actions.apply(member, message)
    // The error goes to one client only, so it is not part of the order and has no number.
    if (fault) this.#outbox.answer(member, frameOf({ t: 'error', ...fault }))
  }

  /**
   * Counts a frame or a WebSocket ping, and closes the connection of a player who sends too many.
   *
   * @param cost the number of messages as which it counts
   * @returns whether it counts
   */
  spend(member: Member, cost = 1): boolean {
    if (!member.link || this.#room.isFrozen) return false
    this.#room.taken++
    if (member.budget.take(this.#clock.now().getTime(), cost)) return true
    const frame = frameOf({ t: 'error', code: 'rate_limited', message: 'Too many messages.' })
    this.#room.expel(member, { code: CLOSE.policy, reason: 'rate_limited', frame })
    return false
  }

  #refuseSize(member: Member): void {
    this.#room.expel(member, { code: CLOSE.tooLarge, reason: 'too_large' })
  }
}
