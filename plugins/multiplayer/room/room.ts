import type { Clock } from '../../../core/clock.ts'
import { Acknowledgements } from './acknowledgements.ts'
import { Actions, type Fault } from './actions.ts'
import { type Frame, frameOf, joinFrames, type LeaveReason } from './frames.ts'
import { Inbox } from './inbox.ts'
import { CLOSE, type RoomLimits } from './limits.ts'
import type { Account, Link, Member } from './member.ts'
import { Members, type Place, type Reservation } from './members.ts'
import { type Batch, firstNumber, Outbox } from './outbox.ts'
import type { Refusal, RoomParts } from './parts.ts'
import type { ScriptEvents } from './script-events.ts'
import type { Change, Roster, Snapshot } from './snapshot.ts'
import { SharedState } from './state.ts'
import { welcomeFrame } from './welcome.ts'

/** The time in which a page that was loaded again takes its place back. */
const UNLOADED_MS = 5000

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
  /** The most players, including those away. A script may lower it. */
  capacity: number
  /** The number of received messages. */
  taken = 0
  /** The script that decides in this room; null for a room that relays. */
  script: ScriptEvents | null = null
  readonly #clock: Clock
  readonly #limits: RoomLimits
  readonly #newToken: () => string
  readonly #wake: () => void
  readonly #onEmpty: () => void
  readonly #durable: boolean
  readonly members: Members
  readonly #outbox: Outbox
  readonly #state: SharedState
  readonly #inbox: Inbox
  readonly #acknowledgements: Acknowledgements
  /** The number of changes that a storage has to know of. */
  revision = 0
  #rosterChanged = false
  #writes: Change[] = []
  #isFrozen = false
  /** The numbers of the last frames of the players, when nothing more is said. */
  #finalNumbers: Map<string, number> | null = null

  constructor(id: string, { clock, limits, newToken, wake, onEmpty, durable }: RoomParts) {
    this.id = id
    this.#clock = clock
    this.#limits = limits
    this.#newToken = newToken
    this.#wake = wake
    this.#onEmpty = onEmpty
    this.#durable = durable
    this.members = new Members(limits)
    this.#outbox = new Outbox(this.members.byId, { frames: limits.replayFrames, bytes: limits.replayBytes }, wake)
    this.#acknowledgements = new Acknowledgements(this.#outbox, limits.messageBurst)
    this.#inbox = new Inbox(this, {
      outbox: this.#outbox,
      actions: new Actions(this, { outbox: this.#outbox, limits, clock }),
      acknowledgements: this.#acknowledgements,
      limits,
      clock,
    })
    this.#state = new SharedState(limits.stateBytes)
    this.capacity = limits.players
  }

  get size(): number {
    return this.members.byId.size
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

  /** Notes a change of what a snapshot has beside the state. */
  changed(): void {
    this.revision++
    this.#rosterChanged = this.#durable
  }

  /** Takes nothing more from players, since this process ends. */
  freeze(): void {
    this.#isFrozen = true
  }

  /**
   * Notes which frames are the last. If nothing is said after them, a client that has received all until here misses
   * nothing when the room goes on elsewhere.
   */
  noteLastFrames(): void {
    const numbers = Array.from(
      this.members.byId.values(),
      (member) => [member.id, this.#outbox.sequenceOf(member)] as const,
    )
    this.#finalNumbers = new Map(numbers)
  }

  get isFrozen(): boolean {
    return this.#isFrozen
  }

  /** Returns the whole room as JSON of a `Snapshot`. */
  snapshot(): string {
    const head = JSON.stringify({ roster: this.#roster(), version: this.#state.version })
    return `${head.slice(0, -1)},"state":${this.#state.toJson()}}`
  }

  /**
   * Restores a room from another node, or from before a restart. Every player is away, and may return within the usual
   * time. Without the numbers that `noteLastFrames` notes, players start without a replay, and frame numbers above any that the
   * other node can have used. @param fence of this node's lease
   */
  restore({ roster, state, version }: Snapshot, fence = 0): void {
    this.#state.restore(state, version)
    this.host = roster.host
    this.locked = roster.locked
    const now = this.#clock.now().getTime()
    this.members.restore(roster, (saved) => {
      const member = this.members.add(saved, now)
      member.awaySince = now
      member.awayUntil = now + this.#limits.resumeSeconds * 1000
      this.#outbox.begin(member, saved.sequence ?? firstNumber(this.members.moves, fence))
    })
  }

  get stateVersion(): number {
    return this.#state.version
  }

  /** The shared state as JSON text. */
  get stateJson(): string {
    return this.#state.toJson()
  }

  /** Disconnects all players because the room moves to another node or ends. */
  disconnect(code: number, reason: string): void {
    for (const member of this.members.byId.values()) {
      member.link?.close(code, reason)
      member.link = null
    }
  }

  /** Returns the reason why an account may not join now, or null. */
  refusal(account: Pick<Account, 'sub'>): Refusal | null {
    if (this.members.isBanned(account.sub)) return 'kicked'
    if (this.members.taken >= this.capacity) return 'full'
    return this.locked ? 'locked' : null
  }

  /** Keeps a place for a player whom the script is asked about. The caller has called `refusal` in the same tick. */
  reserve(account: Account): Reservation {
    return this.members.reserve(account, this.#newToken(), this.#clock.now())
  }

  /** Gives up a reserved place. @param reason null when the script has not admitted the player */
  release(reservation: Reservation, reason: LeaveReason | null): void {
    if (this.members.release(reservation) && reason)
      this.script?.left(reservation.player.id, reason, reservation.account)
  }

  /** Takes the place that was reserved for a player, whose socket is open now. Null: it is not kept any more. */
  claim(token: string, account: Account, link: Link, acks = false): Member | null {
    const reservation = this.members.claim(token, account)
    if (!reservation) return null
    const { id, index, joinedAt } = reservation.player
    const member = this.#enter(reservation.account, { id, index, joinedAt: new Date(joinedAt) }, link, acks)
    for (const frame of reservation.frames) this.#outbox.tell(member, frame)
    return member
  }

  /**
   * Adds a player. The caller has called `refusal` in the same tick.
   *
   * @param acks whether the client wants to know how many of its frames the room has taken
   */
  join(account: Account, link: Link, acks = false): Member {
    return this.#enter(account, this.members.newPlace(this.#clock.now()), link, acks)
  }

  #enter(account: Account, place: Place, link: Link, acks: boolean): Member {
    const fields = { account, ...place, resumeToken: this.#newToken(), link }
    const member = this.members.add(fields, this.#clock.now().getTime())
    member.acks = acks
    this.#outbox.begin(member)
    this.host ||= member.id
    this.changed()
    this.#outbox.answer(member, this.#welcome(member, 0, null))
    this.#outbox.tellOthers(member, frameOf({ t: 'join', player: member.player }))
    return member
  }

  /**
   * Reconnects a player, who keeps id, index and host. Missed frames follow in order. When too many were missed, the
   * `welcome` starts without a replay (`replay: null`).
   *
   * @param received number of the last frame the client has; null: all that was sent before the socket was lost
   */
  resume(member: Member, link: Link, received: number | null, acks = false): void {
    const old = member.link
    // The old socket may not have noticed the loss yet: phones change networks silently.
    if (old) this.#outbox.part(member, old, { code: CLOSE.resumed, reason: 'resumed elsewhere' })
    const sequence = this.#outbox.sequenceOf(member)
    const from = received ?? (old ? sequence - this.#outbox.pendingFor(member) : member.sequenceAtDrop)
    const missed = this.#outbox.after(member, from)
    this.#connect(member, link, acks)
    const welcome = this.#welcome(member, missed ? from : sequence, missed ? missed.length : null)
    this.#outbox.answer(member, joinFrames([welcome, ...(missed ?? [])]))
    if (!old) this.#outbox.tellOthers(member, frameOf({ t: 'back', id: member.id }))
  }

  /**
   * Gives a player's place to another connection of the same account, which knows nothing of it: after a reload, or on
   * another device. The former connection ends for good.
   */
  takeSeat(member: Member, link: Link, acks = false): void {
    const old = member.link
    // Clients of an earlier version know 4002 as an end.
    const code = member.acks ? CLOSE.replaced : CLOSE.resumed
    if (old) this.#outbox.part(member, old, { code, reason: 'replaced' })
    member.resumeToken = this.#newToken()
    this.changed()
    this.#connect(member, link, acks)
    this.#outbox.answer(member, this.#welcome(member, this.#outbox.sequenceOf(member), null))
    if (!old) this.#outbox.tellOthers(member, frameOf({ t: 'back', id: member.id }))
  }

  #connect(member: Member, link: Link, acks: boolean): void {
    member.link = link
    member.hasUnloaded = false
    member.acks = acks
    member.acknowledged = member.taken
    member.unacknowledgedCost = 0
    this.#outbox.listen(member)
  }

  /** Shows the present name and picture of an account, which may be in the room more than once, or not at all. */
  show(account: Omit<Account, 'guest'>): void {
    for (const { id, player } of this.members.show(account)) {
      this.changed()
      this.#outbox.tellAll(frameOf({ t: 'profile', id, name: player.name, imageUrl: player.imageUrl }))
    }
  }

  /**
   * Handles a lost socket. The player's place is kept for a while. It is ignored if the player has another socket now.
   *
   * @param hasUnloaded whether the page was closed or loaded again; the place is then kept for 5 s
   */
  drop(member: Member, link: Link, hasUnloaded = false): void {
    if (member.link !== link || this.isFrozen) return
    member.link = null
    member.hasUnloaded = hasUnloaded
    member.awaySince = this.#clock.now().getTime()
    member.awayUntil = member.awaySince + (hasUnloaded ? UNLOADED_MS : this.#limits.resumeSeconds * 1000)
    member.sequenceAtDrop = this.#outbox.sequenceOf(member) - this.#outbox.pendingFor(member)
    this.#outbox.tellOthers(member, frameOf({ t: 'away', id: member.id }))
  }

  /** Removes a player permanently. It is ignored if the player has left already or has another socket. */
  leave(member: Member, link: Link | null, reason: LeaveReason): void {
    if (member.link === link && !this.isFrozen) this.#remove(member, reason)
  }

  /** Removes players who have been away for too long, and acknowledges the frames of the others. */
  sweep(): void {
    if (this.isFrozen) return
    const now = this.#clock.now().getTime()
    for (const member of this.members.byId.values()) this.#acknowledgements.send(member)
    for (const member of [...this.members.byId.values()]) {
      if (!member.link && member.awayUntil <= now) this.#remove(member, 'timeout')
    }
    for (const kept of this.members.reservations) if (kept.until <= now) this.release(kept, 'timeout')
    const host = this.members.byId.get(this.host)
    if (!host || host.link || now - host.awaySince < this.#limits.hostPatienceSeconds * 1000) return
    const { nextHost: next } = this.members
    if (next?.link) this.#setHost(next.id)
  }

  /** Handles a binary frame from a player. */
  receiveBinary(member: Member, bytes: Buffer): void {
    this.#inbox.receiveBinary(member, bytes)
  }

  /** Handles a text frame from a player. */
  receive(member: Member, text: string): void {
    this.#inbox.receive(member, text)
  }

  /** Counts a WebSocket ping as a message, and closes the connection of a player who sends too many. */
  spend(member: Member): void {
    this.#inbox.spend(member)
  }

  /** Removes a player who broke a rule, and closes the connection after an optional last frame. */
  expel(member: Member, end: { code: number; reason: string; frame?: Frame }): void {
    if (member.link) this.#outbox.part(member, member.link, end)
    this.#remove(member, 'closed')
  }

  /** Writes the shared state. @param from a player's id; null for the script @returns why it was not written, or null */
  writeState(from: string | null, set: Record<string, unknown>, del: string[]): Fault | null {
    if (!this.#state.write(set, del)) {
      const { version } = this.#state
      return { code: 'state_too_large', message: 'The state would become too large.', version }
    }
    this.revision++
    if (this.#durable) this.#writes.push({ set, del, version: this.#state.version })
    this.#outbox.tellAll(frameOf({ t: 'state', from, set, del, version: this.#state.version }))
    if (this.script?.clientState) this.script.written(set, del)
    return null
  }

  /** Sends a frame of the script. @param ids null for everyone; players who have left are skipped */
  tell(ids: string[] | null, frame: Frame): void {
    this.members.keep(ids, frame)
    if (ids === null) this.#outbox.tellAll(frame)
    for (const id of ids ?? []) {
      const member = this.members.byId.get(id)
      if (member) this.#outbox.tell(member, frame)
    }
  }

  setLocked(locked: boolean): void {
    this.locked = locked
    this.changed()
    // Nobody is told, so no frame does this.
    if (this.#durable) this.#wake()
  }

  makeHost(id: string): void {
    if (this.members.byId.has(id) && id !== this.host) this.#setHost(id)
  }

  /** Removes a player. @param reason shown to the player, in the close frame */
  kick(id: string, reason = 'kicked'): void {
    const reservation = this.members.reservations.find(({ player }) => player.id === id)
    if (reservation) this.release(reservation, 'kicked')
    const member = this.members.byId.get(id)
    if (!member) return
    const frame = frameOf({ t: 'leave', id, reason: 'kicked' })
    if (member.link) this.#outbox.part(member, member.link, { code: CLOSE.kicked, reason, frame })
    this.#remove(member, 'kicked')
  }

  #remove(member: Member, reason: LeaveReason): void {
    if (!this.members.byId.delete(member.id)) return
    member.link = null
    this.changed()
    this.#outbox.tellAll(frameOf({ t: 'leave', id: member.id, reason }))
    this.script?.left(member.id, reason, member.account)
    if (member.id === this.host) {
      const { nextHost: next } = this.members
      if (next) this.#setHost(next.id)
      else this.host = ''
    }
    if (this.size === 0) this.#onEmpty()
  }

  #setHost(id: string): void {
    this.host = id
    this.changed()
    this.#outbox.tellAll(frameOf({ t: 'host', id }))
  }

  #roster(): Roster {
    const numbers = this.#finalNumbers
    const isFinal = [...this.members.byId.values()].every(
      (member) => numbers?.get(member.id) === this.#outbox.sequenceOf(member),
    )
    return { host: this.host, locked: this.locked, ...this.members.save(isFinal ? numbers : null) }
  }

  #welcome(member: Member, sequence: number, replay: number | null): Frame {
    const now = this.#clock.now().getTime()
    const moment = { version: this.#state.version, sequence, replay, now, taken: member.taken }
    return welcomeFrame(this, member, moment, this.#limits)
  }
}
