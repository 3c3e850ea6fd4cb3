import type { Clock } from '../../../core/clock.ts'
import { binaryFrame, type Frame, frameOf, type LeaveReason, type ServerMessage, textFrame } from './frames.ts'
import { type Account, Budget, type Link, Member, Replay } from './member.ts'
import { type ClientMessage, parseMessage } from './messages.ts'
import { SharedState } from './state.ts'

/** The room's numbers (contracts, section 8). */
export interface RoomLimits {
  /** Players a room, those away included. */
  players: number
  messagesPerSecond: number
  messageBurst: number
  stateBytes: number
  presenceBytes: number
  resumeSeconds: number
  /** Frames repeated to a client that comes back. */
  replayFrames: number
  replayBytes: number
}

/** Close codes that are ours (RFC 6455 section 7.4). */
export const CLOSE = { policy: 1008, restart: 1012, slow: 1013, kicked: 4001, replaced: 4002 } as const

type Fault = Omit<Extract<ServerMessage, { t: 'error' }>, 't'>

export type Refusal = 'full' | 'locked' | 'kicked'

/**
 * One room, protocol 1: messages in, messages out. It knows no socket and no timer; the time comes from a clock, and
 * whoever owns it calls `sweep` now and then.
 *
 * Everything happens in one order, which is the same for all: a message is handed to every recipient before the next
 * one is looked at. A room with members has exactly one host at every moment, connected or away.
 */
export class Room {
  readonly id: string
  locked = false
  /** The host's id; empty only while the room is. */
  host = ''
  readonly #clock: Clock
  readonly #limits: RoomLimits
  readonly #newToken: () => string
  /** In the order in which they came: the first is the next host. */
  readonly #members = new Map<string, Member>()
  readonly #state: SharedState
  readonly #banned = new Set<string>()
  #ids = 0

  constructor(id: string, parts: { clock: Clock; limits: RoomLimits; newToken: () => string }) {
    this.id = id
    this.#clock = parts.clock
    this.#limits = parts.limits
    this.#newToken = parts.newToken
    this.#state = new SharedState(parts.limits.stateBytes)
  }

  get size(): number {
    return this.#members.size
  }

  /** Why an account may not come in now, or null. */
  refusal(account: Pick<Account, 'sub'>): Refusal | null {
    if (this.#banned.has(account.sub)) return 'kicked'
    if (this.size >= this.#limits.players) return 'full'
    return this.locked ? 'locked' : null
  }

  /** Lets a player in. The caller has asked `refusal` in the same tick. */
  join(account: Account, link: Link): Member {
    const now = this.#clock.now()
    const { messagesPerSecond, messageBurst, replayFrames, replayBytes } = this.#limits
    const member = new Member({
      account,
      link,
      id: `p${(++this.#ids).toString(36)}`,
      index: this.#freeIndex(),
      joinedAt: now,
      resumeToken: this.#newToken(),
      replay: new Replay(replayFrames, replayBytes),
      budget: new Budget(messagesPerSecond, messageBurst, now.getTime()),
    })
    this.#members.set(member.id, member)
    this.host ||= member.id
    link.send(this.#welcome(member, 0, null))
    this.#tellOthers(member, frameOf({ t: 'join', player: member.player }))
    return member
  }

  /** The player whom a resume token names, if it is of this account; a guest has none but the token. */
  resumable(token: string, account: Pick<Account, 'sub' | 'guest'>): Member | null {
    for (const member of this.#members.values()) {
      if (member.resumeToken !== token) continue
      return member.account.sub === account.sub || (member.account.guest && account.guest) ? member : null
    }
    return null
  }

  /**
   * Connects a player again, who keeps id, index and host. What was missed follows in order; when too much was, the
   * `welcome` is the new beginning (`replay: null`).
   *
   * @param received number of the last frame the client has; null: all that was sent before the socket was lost
   */
  resume(member: Member, link: Link, received: number | null): void {
    // The old socket may not have noticed yet that it is dead: phones change networks silently.
    const wasAway = member.link === null
    if (!wasAway) member.link?.close(CLOSE.replaced, 'resumed elsewhere')
    const from = received ?? (wasAway ? member.replay.sequenceAtDrop : member.replay.sequence)
    const missed = member.replay.after(from)
    member.link = link
    link.send(this.#welcome(member, missed ? from : member.replay.sequence, missed ? missed.length : null))
    for (const frame of missed ?? []) link.send(frame)
    if (wasAway) this.#tellOthers(member, frameOf({ t: 'back', id: member.id }))
  }

  /** A socket is gone without goodbye: the place is kept for a while. Ignored when the player has another by now. */
  drop(member: Member, link: Link): void {
    if (member.link !== link) return
    member.link = null
    member.awayUntil = this.#clock.now().getTime() + this.#limits.resumeSeconds * 1000
    member.replay.sequenceAtDrop = member.replay.sequence
    this.#tellOthers(member, frameOf({ t: 'away', id: member.id }))
  }

  /** A player is gone for good. Ignored when they are already, or the socket is not theirs any more. */
  leave(member: Member, link: Link | null, reason: LeaveReason): void {
    if (member.link === link) this.#remove(member, reason)
  }

  /** Ends the places of those who have been away for too long. */
  sweep(): void {
    const now = this.#clock.now().getTime()
    for (const member of [...this.#members.values()]) {
      if (!member.link && member.awayUntil <= now) this.#remove(member, 'timeout')
    }
  }

  /** Takes bytes from a player to everyone else, unread. */
  receiveBinary(member: Member, bytes: Buffer): void {
    if (this.spend(member)) this.#tellOthers(member, binaryFrame(member.index, bytes))
  }

  /** Takes a text frame from a player. */
  receive(member: Member, text: string): void {
    if (!this.spend(member)) return
    const message = parseMessage(text)
    const fault =
      typeof message === 'string' ? { code: 'invalid_message' as const, message } : this.#act(member, message)
    // An answer to one client alone: not part of the order, so not numbered.
    if (fault) member.link?.send(frameOf({ t: 'error', ...fault }))
  }

  /** Counts a message, or a ping of the socket's own; closes on a player who sends too many. @returns whether it counts */
  spend(member: Member): boolean {
    if (!member.link) return false
    if (member.budget.take(this.#clock.now().getTime())) return true
    member.link.send(frameOf({ t: 'error', code: 'rate_limited', message: 'Too many messages.' }))
    member.link.close(CLOSE.policy, 'rate_limited')
    this.#remove(member, 'closed')
    return false
  }

  #act(member: Member, message: ClientMessage): Fault | null {
    switch (message.t) {
      case 'send':
        this.#relay(member, message)
        return null
      case 'state':
        return this.#write(member, message)
      case 'presence': {
        const frame = frameOf({ t: 'presence', id: member.id, data: message.data })
        if (frame.data.length > this.#limits.presenceBytes) {
          return { code: 'presence_too_large', message: 'The presence is too large.' }
        }
        member.data = message.data
        this.#tellAll(frame)
        return null
      }
      case 'ping':
        member.link?.send(frameOf({ t: 'pong', id: message.id, now: this.#clock.now().getTime() }))
        return null
      default:
        if (member.id !== this.host) return { code: 'not_host', message: 'Only the host may do this.' }
        return this.#actAsHost(member, message)
    }
  }

  #relay(member: Member, { type, data, to }: Extract<ClientMessage, { t: 'send' }>): void {
    const frame = frameOf({ t: 'msg', from: member.id, type, data })
    if (to === 'others') this.#tellOthers(member, frame)
    else if (to === 'all') this.#tellAll(frame)
    else for (const id of to === 'host' ? [this.host] : new Set(to)) this.#members.get(id)?.tell(frame)
  }

  #write(member: Member, { set, del, if: expected }: Extract<ClientMessage, { t: 'state' }>): Fault | null {
    const { version } = this.#state
    if (expected !== null && expected !== version) {
      return { code: 'conflict', message: 'The state is of another version.', version }
    }
    if (!this.#state.write(set, del)) {
      return { code: 'state_too_large', message: 'The state would become too large.', version }
    }
    this.#tellAll(frameOf({ t: 'state', from: member.id, set, del, version: this.#state.version }))
    return null
  }

  #actAsHost(host: Member, message: Extract<ClientMessage, { t: 'kick' | 'host' | 'lock' }>): Fault | null {
    if (message.t === 'lock') {
      this.locked = message.locked
      return null
    }
    const other = this.#members.get(message.id)
    if (!other) return { code: 'no_such_player', message: 'There is no such player in the room.' }
    if (message.t === 'kick') {
      // A host who throws themselves out may come back; anyone else's account stays out while the room lives.
      if (other.account.sub !== host.account.sub) this.#banned.add(other.account.sub)
      other.link?.send(frameOf({ t: 'leave', id: other.id, reason: 'kicked' }))
      other.link?.close(CLOSE.kicked, 'kicked')
      this.#remove(other, 'kicked')
    } else if (other !== host) {
      this.#setHost(other)
    }
    return null
  }

  #remove(member: Member, reason: LeaveReason): void {
    if (!this.#members.delete(member.id)) return
    member.link = null
    this.#tellAll(frameOf({ t: 'leave', id: member.id, reason }))
    if (member.id !== this.host) return
    const members = [...this.#members.values()]
    const next = members.find((other) => other.link) ?? members[0]
    if (next) this.#setHost(next)
    else this.host = ''
  }

  #setHost(member: Member): void {
    this.host = member.id
    this.#tellAll(frameOf({ t: 'host', id: member.id }))
  }

  #tellAll(frame: Frame): void {
    for (const member of this.#members.values()) member.tell(frame)
  }

  #tellOthers(sender: Member, frame: Frame): void {
    for (const member of this.#members.values()) if (member !== sender) member.tell(frame)
  }

  #welcome(member: Member, sequence: number, replay: number | null): Frame {
    const head = JSON.stringify({
      t: 'welcome',
      v: 1,
      you: member.id,
      room: { id: this.id, host: this.host, capacity: this.#limits.players, locked: this.locked },
      players: Array.from(this.#members.values(), (other) => other.player),
      version: this.#state.version,
      resume: member.resumeToken,
      now: this.#clock.now().getTime(),
      sequence,
      replay,
    })
    return textFrame(`${head.slice(0, -1)},"state":${this.#state.toJson()}}`)
  }

  #freeIndex(): number {
    const taken = new Set(Array.from(this.#members.values(), (member) => member.index))
    let index = 0
    while (taken.has(index)) index++
    return index
  }
}
