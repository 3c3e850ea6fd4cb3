import type { Clock } from '../../../core/clock.ts'
import { type Frame, frameOf, type ServerMessage } from './frames.ts'
import type { RoomLimits } from './limits.ts'
import type { Member } from './member.ts'
import type { Members } from './members.ts'
import type { ClientMessage } from './messages.ts'
import type { Outbox } from './outbox.ts'
import type { ScriptEvents } from './script-events.ts'

/** The reason why a message has no effect. */
export type Fault = Omit<Extract<ServerMessage, { t: 'error' }>, 't'>

const BY_SCRIPT: Fault = { code: 'not_host', message: 'Only the script of the room may do this.' }

/** What the messages of players act on. */
interface Target {
  readonly host: string
  readonly script: ScriptEvents | null
  readonly members: Members
  readonly stateVersion: number
  writeState(from: string, set: Record<string, unknown>, del: string[]): Fault | null
  changed(): void
  setLocked(locked: boolean): void
  makeHost(id: string): void
  kick(id: string): void
}

/** Applies the messages of players to their room. */
export class Actions {
  readonly #room: Target
  readonly #outbox: Outbox
  readonly #limits: RoomLimits
  readonly #clock: Clock

  constructor(room: Target, { outbox, limits, clock }: { outbox: Outbox; limits: RoomLimits; clock: Clock }) {
    this.#room = room
    this.#outbox = outbox
    this.#limits = limits
    this.#clock = clock
  }

  /** @returns why the message had no effect, or null */
  apply(member: Member, message: ClientMessage): Fault | null {
    const { script, host } = this.#room
    switch (message.t) {
      case 'send':
        script?.message(member.id, message.type, message.data)
        if (script?.relay ?? true) this.#relay(member, message)
        return null
      case 'state':
        return this.#write(member, message)
      case 'presence':
        return this.#setPresence(member, message.data)
      case 'ping':
        this.#outbox.answer(member, frameOf({ t: 'pong', id: message.id, now: this.#clock.now().getTime() }))
        return null
      default:
        if (script) return BY_SCRIPT
        if (member.id !== host) return { code: 'not_host', message: 'Only the host may do this.' }
        return this.#actAsHost(member, message)
    }
  }

  #setPresence(member: Member, data: unknown): Fault | null {
    const { script } = this.#room
    const frame = frameOf({ t: 'presence', id: member.id, data })
    if (frame.length > this.#limits.presenceBytes) {
      return { code: 'presence_too_large', message: 'The presence is too large.' }
    }
    script?.presence(member.id, data)
    if (script && !script.relay) return null
    member.data = data
    this.#room.changed()
    this.#outbox.tellAll(frame)
    return null
  }

  #relay(member: Member, { type, data, to }: Extract<ClientMessage, { t: 'send' }>): void {
    const frame = frameOf({ t: 'msg', from: member.id, type, data })
    if (to === 'others') this.#outbox.tellOthers(member, frame)
    else if (to === 'all') this.#outbox.tellAll(frame)
    else this.#tellEach(to === 'host' ? [this.#room.host] : new Set(to), frame)
  }

  #tellEach(ids: Iterable<string>, frame: Frame): void {
    for (const id of ids) {
      const recipient = this.#room.members.byId.get(id)
      if (recipient) this.#outbox.tell(recipient, frame)
    }
  }

  #write(member: Member, { set, del, if: expected }: Extract<ClientMessage, { t: 'state' }>): Fault | null {
    const { script, stateVersion: version } = this.#room
    if (script && !script.clientState) {
      return { code: 'read_only', message: 'Only the script of the room writes the state.', version }
    }
    if (expected !== null && expected !== version) {
      return { code: 'conflict', message: 'The state has another version.', version }
    }
    return this.#room.writeState(member.id, set, del)
  }

  #actAsHost(host: Member, message: Extract<ClientMessage, { t: 'kick' | 'host' | 'lock' }>): Fault | null {
    if (message.t === 'lock') {
      this.#room.setLocked(message.locked)
      return null
    }
    const { members } = this.#room
    const other = members.byId.get(message.id)
    if (!other) return { code: 'no_such_player', message: 'There is no such player in the room.' }
    if (message.t === 'kick') {
      // A host who kicks their own account may return. Other accounts are banned while the room exists.
      if (other.account.sub !== host.account.sub) members.ban(other.account.sub)
      this.#room.kick(other.id)
    } else this.#room.makeHost(other.id)
    return null
  }
}
