import type { Clock } from '../../../core/clock.ts'
import {
  binaryFrame,
  type Frame,
  frameOf,
  joinFrames,
  type LeaveReason,
  type ServerMessage,
  textFrame,
} from './frames.ts'
import { type Account, Budget, type Link, Member } from './member.ts'
import { type ClientMessage, parseMessage } from './messages.ts'
import { type Batch, Outbox } from './outbox.ts'
import type { Change, Roster, SavedMember, Snapshot } from './snapshot.ts'
import { SharedState } from './state.ts'

/** The limits of a room (contracts, section 8). */
export interface RoomLimits {
  /** The maximum number of players, including those away. */
  players: number
  messagesPerSecond: number
  messageBurst: number
  stateBytes: number
  presenceBytes: number
  resumeSeconds: number
  /** The maximum number of frames that are replayed to a resuming client. */
  replayFrames: number
  replayBytes: number
}

/** Close codes of RFC 6455 section 7.4 and its registry, and two private ones. */
export const CLOSE = { policy: 1008, restart: 1012, slow: 1013, kicked: 4001, replaced: 4002, suspended: 4011 } as const

/** The dependencies of a room. */
export interface RoomParts {
  clock: Clock
  limits: RoomLimits
  newToken: () => string
  /** Called when the room has its first pending frame. The owner then calls `seal` soon. */
  wake: () => void
  /** Whether the owner calls `takeChanges`. */
  durable: boolean
}

/** More frames than any node sends to one player, but small enough that the numbers stay integers after many moves. */
const NUMBERS_A_NODE = 1e11

type Fault = Omit<Extract<ServerMessage, { t: 'error' }>, 't'>

export type Refusal = 'full' | 'locked' | 'kicked'

/**
 * One room, protocol 1: messages in, messages out. It has no sockets and no timers; the time comes from a clock. Its
 * owner calls `sweep` from time to time, and delivers its frames: `seal`, then `deliver`.
 *
 * All events have one order, which is the same for every player. A room with members has exactly one host at every
 * moment, connected or away.
 */
export class Room {
  readonly id: string
  locked = false
  /** The host's id; empty only while the room is empty. */
  host = ''
  /** The number of received messages. */
  taken = 0
  readonly #clock: Clock
  readonly #limits: RoomLimits
  readonly #newToken: () => string
  readonly #durable: boolean
  /** The members in the order of joining. The first is the next host. */
  readonly #members = new Map<string, Member>()
  readonly #outbox: Outbox
  readonly #state: SharedState
  readonly #banned = new Set<string>()
  #ids = 0
  #moves = 0
  #rosterChanged = false
  #writes: Change[] = []

  constructor(id: string, { clock, limits, newToken, wake, durable }: RoomParts) {
    this.id = id
    this.#clock = clock
    this.#limits = limits
    this.#newToken = newToken
    this.#durable = durable
    this.#outbox = new Outbox(this.#members, { frames: limits.replayFrames, bytes: limits.replayBytes }, wake)
    this.#state = new SharedState(limits.stateBytes)
  }

  get size(): number {
    return this.#members.size
  }

  get capacity(): number {
    return this.#limits.players
  }

  /** The players in the order of joining. */
  get players(): { name: string; imageUrl: string | null; away: boolean }[] {
    return Array.from(this.#members.values(), ({ account, link }) => ({
      name: account.name,
      imageUrl: account.imageUrl,
      away: link === null,
    }))
  }

  /** Returns the frames since the last call for delivery; null when there are none. */
  seal(): Batch | null {
    return this.#outbox.seal()
  }

  /** Returns changes that must be stored before the frames are delivered, for a `durable` room only. */
  takeChanges(): Change[] {
    const changes = this.#writes
    this.#writes = []
    if (this.#rosterChanged) changes.push({ roster: this.#roster() })
    this.#rosterChanged = false
    return changes
  }

  /** Returns the whole room as JSON text of a `Snapshot`. */
  snapshot(): string {
    const head = JSON.stringify({ roster: this.#roster(), version: this.#state.version })
    return `${head.slice(0, -1)},"state":${this.#state.toJson()}}`
  }

  /**
   * Restores a room from another node. Every player is away, and may return within the usual time, but starts without a
   * replay, since the other node's last messages are unknown. Frame numbers therefore start above any that the other
   * node can have used.
   */
  restore({ roster, state, version }: Snapshot): void {
    this.#state.restore(state, version)
    this.host = roster.host
    this.locked = roster.locked
    this.#ids = roster.ids
    this.#moves = (roster.moves ?? 0) + 1
    for (const sub of roster.banned) this.#banned.add(sub)
    for (const saved of roster.members) {
      const member = this.#makeMember({ ...saved, joinedAt: new Date(saved.joinedAt), link: null })
      member.awayUntil = this.#clock.now().getTime() + this.#limits.resumeSeconds * 1000
      this.#outbox.begin(member, this.#moves * NUMBERS_A_NODE)
    }
  }

  /** Disconnects all players because the room moves to another node or ends. */
  disconnect(code: number, reason: string): void {
    for (const member of this.#members.values()) {
      member.link?.close(code, reason)
      member.link = null
    }
  }

  /** Returns the reason why an account may not join now, or null. */
  refusal(account: Pick<Account, 'sub'>): Refusal | null {
    if (this.#banned.has(account.sub)) return 'kicked'
    if (this.size >= this.#limits.players) return 'full'
    return this.locked ? 'locked' : null
  }

  /** Adds a player. The caller has called `refusal` in the same tick. */
  join(account: Account, link: Link): Member {
    const id = `p${(++this.#ids).toString(36)}`
    const joinedAt = this.#clock.now()
    const resumeToken = this.#newToken()
    const member = this.#makeMember({ account, id, index: this.#freeIndex(), joinedAt, resumeToken, link })
    this.host ||= member.id
    this.#rosterChanged = this.#durable
    this.#outbox.answer(member, this.#welcome(member, 0, null))
    this.#outbox.tellOthers(member, frameOf({ t: 'join', player: member.player }))
    return member
  }

  /** Returns the player of a resume token if it belongs to this account. A guest is identified only by the token. */
  resumable(token: string, account: Pick<Account, 'sub' | 'guest'>): Member | null {
    for (const member of this.#members.values()) {
      if (member.resumeToken !== token) continue
      return member.account.sub === account.sub || (member.account.guest && account.guest) ? member : null
    }
    return null
  }

  /**
   * Reconnects a player, who keeps id, index and host. Missed frames follow in order. When too many were missed, the
   * `welcome` starts without a replay (`replay: null`).
   *
   * @param received number of the last frame the client has; null: all that was sent before the socket was lost
   */
  resume(member: Member, link: Link, received: number | null): void {
    const old = member.link
    // The old socket may not have noticed the loss yet: phones change networks silently.
    if (old) this.#outbox.part(member, old, { code: CLOSE.replaced, reason: 'resumed elsewhere' })
    const sequence = this.#outbox.sequenceOf(member)
    const from = received ?? (old ? sequence - this.#outbox.pendingFor(member) : member.sequenceAtDrop)
    const missed = this.#outbox.after(member, from)
    member.link = link
    this.#outbox.listen(member)
    const welcome = this.#welcome(member, missed ? from : sequence, missed ? missed.length : null)
    this.#outbox.answer(member, joinFrames([welcome, ...(missed ?? [])]))
    if (!old) this.#outbox.tellOthers(member, frameOf({ t: 'back', id: member.id }))
  }

  /**
   * Handles a lost socket. The player's place is kept for a while. It is ignored if the player has another socket now.
   */
  drop(member: Member, link: Link): void {
    if (member.link !== link) return
    member.link = null
    member.awayUntil = this.#clock.now().getTime() + this.#limits.resumeSeconds * 1000
    member.sequenceAtDrop = this.#outbox.sequenceOf(member) - this.#outbox.pendingFor(member)
    this.#outbox.tellOthers(member, frameOf({ t: 'away', id: member.id }))
  }

  /** Removes a player permanently. It is ignored if the player has left already or has another socket. */
  leave(member: Member, link: Link | null, reason: LeaveReason): void {
    if (member.link === link) this.#remove(member, reason)
  }

  /** Removes players who have been away for too long. */
  sweep(): void {
    const now = this.#clock.now().getTime()
    for (const member of [...this.#members.values()]) {
      if (!member.link && member.awayUntil <= now) this.#remove(member, 'timeout')
    }
  }

  /** Relays binary data from a player to everyone else without parsing it. */
  receiveBinary(member: Member, bytes: Buffer): void {
    if (this.spend(member)) this.#outbox.tellOthers(member, binaryFrame(member.index, bytes))
  }

  /** Handles a text frame from a player. */
  receive(member: Member, text: string): void {
    if (!this.spend(member)) return
    const message = parseMessage(text)
    const fault =
      typeof message === 'string' ? { code: 'invalid_message' as const, message } : this.#act(member, message)
    // The error goes to one client only, so it is not part of the order and has no number.
    if (fault) this.#outbox.answer(member, frameOf({ t: 'error', ...fault }))
  }

  /**
   * Counts a message or a WebSocket ping, and closes the connection of a player who sends too many.
   *
   * @returns whether it counts
   */
  spend(member: Member): boolean {
    if (!member.link) return false
    this.taken++
    if (member.budget.take(this.#clock.now().getTime())) return true
    const frame = frameOf({ t: 'error', code: 'rate_limited', message: 'Too many messages.' })
    this.#outbox.part(member, member.link, { code: CLOSE.policy, reason: 'rate_limited', frame })
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
        if (frame.length > this.#limits.presenceBytes) {
          return { code: 'presence_too_large', message: 'The presence is too large.' }
        }
        member.data = message.data
        this.#outbox.tellAll(frame)
        return null
      }
      case 'ping':
        this.#outbox.answer(member, frameOf({ t: 'pong', id: message.id, now: this.#clock.now().getTime() }))
        return null
      default:
        if (member.id !== this.host) return { code: 'not_host', message: 'Only the host may do this.' }
        return this.#actAsHost(member, message)
    }
  }

  #relay(member: Member, { type, data, to }: Extract<ClientMessage, { t: 'send' }>): void {
    const frame = frameOf({ t: 'msg', from: member.id, type, data })
    if (to === 'others') {
      this.#outbox.tellOthers(member, frame)
    } else if (to === 'all') {
      this.#outbox.tellAll(frame)
    } else {
      for (const id of to === 'host' ? [this.host] : new Set(to)) {
        const recipient = this.#members.get(id)
        if (recipient) this.#outbox.tell(recipient, frame)
      }
    }
  }

  #write(member: Member, { set, del, if: expected }: Extract<ClientMessage, { t: 'state' }>): Fault | null {
    const { version } = this.#state
    if (expected !== null && expected !== version) {
      return { code: 'conflict', message: 'The state has another version.', version }
    }
    if (!this.#state.write(set, del)) {
      return { code: 'state_too_large', message: 'The state would become too large.', version }
    }
    if (this.#durable) this.#writes.push({ set, del, version: this.#state.version })
    this.#outbox.tellAll(frameOf({ t: 'state', from: member.id, set, del, version: this.#state.version }))
    return null
  }

  #actAsHost(host: Member, message: Extract<ClientMessage, { t: 'kick' | 'host' | 'lock' }>): Fault | null {
    if (message.t === 'lock') {
      this.locked = message.locked
      this.#rosterChanged = this.#durable
      return null
    }
    const other = this.#members.get(message.id)
    if (!other) return { code: 'no_such_player', message: 'There is no such player in the room.' }
    if (message.t === 'kick') {
      // A host who kicks their own account may return. Other accounts are banned while the room exists.
      if (other.account.sub !== host.account.sub) this.#banned.add(other.account.sub)
      const frame = frameOf({ t: 'leave', id: other.id, reason: 'kicked' })
      if (other.link) this.#outbox.part(other, other.link, { code: CLOSE.kicked, reason: 'kicked', frame })
      this.#remove(other, 'kicked')
    } else if (other !== host) {
      this.#setHost(other)
    }
    return null
  }

  #remove(member: Member, reason: LeaveReason): void {
    if (!this.#members.delete(member.id)) return
    member.link = null
    this.#rosterChanged = this.#durable
    this.#outbox.tellAll(frameOf({ t: 'leave', id: member.id, reason }))
    if (member.id !== this.host) return
    const members = [...this.#members.values()]
    const next = members.find((other) => other.link) ?? members[0]
    if (next) this.#setHost(next)
    else this.host = ''
  }

  #setHost(member: Member): void {
    this.host = member.id
    this.#rosterChanged = this.#durable
    this.#outbox.tellAll(frameOf({ t: 'host', id: member.id }))
  }

  #makeMember(fields: Omit<SavedMember, 'joinedAt' | 'data'> & { joinedAt: Date; link: Link | null; data?: unknown }) {
    const { messagesPerSecond, messageBurst } = this.#limits
    const budget = new Budget(messagesPerSecond, messageBurst, this.#clock.now().getTime())
    const member = new Member({ ...fields, budget })
    this.#members.set(member.id, member)
    this.#outbox.begin(member)
    return member
  }

  #roster(): Roster {
    return {
      host: this.host,
      locked: this.locked,
      banned: [...this.#banned],
      ids: this.#ids,
      moves: this.#moves,
      members: Array.from(this.#members.values(), ({ account, id, index, joinedAt, resumeToken, data }) => ({
        ...{ account, id, index, resumeToken, data },
        joinedAt: joinedAt.toISOString(),
      })),
    }
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
