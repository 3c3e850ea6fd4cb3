import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../../../core/clock.ts'
import { type JoinRequest, placeOf, refusalOf, type Verdict } from '../admission/join.ts'
import { CLOSE } from '../room/limits.ts'
import type { Reservation } from '../room/members.ts'
import type { Batch } from '../room/outbox.ts'
import type { RoomParts } from '../room/parts.ts'
import { Room } from '../room/room.ts'
import type { RunningScript } from '../scripts/running-script.ts'
import { type CoalescedWriter, DeliveryRate } from './write-coalescing.ts'

/** Durable storage of a room, from which another node can continue it. */
export interface RoomStore {
  /**
   * The state of this node's lease. `held`: this node runs the room. `unsure`: the bus does not answer. `lost`: another
   * node may run the room.
   */
  readonly lease: 'held' | 'unsure' | 'lost'
  /** The fence of this node's lease. */
  readonly fence: number
  /** Stores the whole room. @returns false when another node runs the room now. @throws BusUnavailable */
  save(snapshot: string): Promise<boolean>
  /** Appends changes, with the same results as `save`. */
  append(changes: string[]): Promise<boolean>
}

/** The size of changes that triggers a new snapshot, unless the snapshot itself is larger. */
const FOLD_BYTES = 64 * 1024
const RETRY_MS = 100
/** The time for which an empty room is kept for the player who asked for it. */
const RESERVED_MS = 5000
/** The time for which a room waits for an unavailable bus before its players must find it again. */
const PATIENCE_MS = 5000

/**
 * A room on the node that runs it. With a store, a message waits until the state change that it reports is stored.
 * Meanwhile more messages are collected, so that one round trip serves many.
 */
export class HostedRoom implements CoalescedWriter {
  readonly gameId: string
  readonly room: Room
  readonly deliveryRate = new DeliveryRate()
  /** Received messages per second in the last seconds. */
  rate = 0
  /** Until when an empty room is kept for each player who is about to join, in ms since 1970. */
  #reservedUntil: number[] = []
  /** The number of players about whom the script is being asked. */
  #admissions = 0
  #script: RunningScript | null = null
  /** The script's last snapshot as JSON, and whether it is to be stored. */
  #scriptData: string | null = null
  #scriptChanged = false
  readonly #clock: Clock
  readonly #store: RoomStore | null
  readonly #log: FastifyBaseLogger
  readonly #onLost: (room: HostedRoom) => void
  #ended = false
  #persisting = false
  /** Settles when all batches until now are stored and delivered. It never rejects. */
  #delivered: Promise<void> = Promise.resolve()
  #savedBytes = 0
  #appendedBytes = 0
  #takenBefore = 0

  constructor(
    gameId: string,
    roomId: string,
    parts: Omit<RoomParts, 'wake' | 'durable' | 'onEmpty'> & {
      store: RoomStore | null
      log: FastifyBaseLogger
      wake: (room: HostedRoom) => void
      /** Called when the last player has left. */
      onEmpty: (room: HostedRoom) => void
      /** Called when another node runs the room, or this node can't tell. */
      onLost: (room: HostedRoom) => void
    },
  ) {
    this.gameId = gameId
    this.#store = parts.store
    this.#log = parts.log
    this.#onLost = parts.onLost
    this.#clock = parts.clock
    this.room = new Room(roomId, {
      clock: parts.clock,
      limits: parts.limits,
      newToken: parts.newToken,
      durable: parts.store !== null,
      wake: () => parts.wake(this),
      onEmpty: () => parts.onEmpty(this),
    })
  }

  get script(): RunningScript | null {
    return this.#script
  }

  /** Gives the room its script, before anybody joins. */
  attachScript(script: RunningScript, data: string | null): void {
    this.#script = script
    this.#scriptData = data
    this.room.script = script
  }

  /**
   * Decides on admission. With a script, the script decides, and a place is kept until the socket is open. After an
   * inquiry the script is told at once that the player has left.
   */
  async admit(request: JoinRequest): Promise<Verdict> {
    const script = this.#script
    const refusal = refusalOf(this.room, request)
    if (refusal || !script) return { refusal }
    // A restored room does not know yet what its script lets players do.
    if (placeOf(this.room, request))
      return script.opened.then(
        () => ({ refusal: null }),
        () => ({ refusal: 'failed' }),
      )
    this.#admissions++
    let reservation: Reservation | null = null
    try {
      await script.opened
      const later = refusalOf(this.room, request)
      if (later) return { refusal: later }
      reservation = this.room.reserve(request.account)
      const refused = await script.join(reservation.player)
      if (!refused && !this.#ended && !request.inquiry) {
        // The script may have removed the player meanwhile.
        const isKept = this.room.members.confirm(reservation, this.#clock.now().getTime())
        return isKept ? { refusal: null, reservation: reservation.token } : { refusal: 'kicked' }
      }
      this.room.release(reservation, refused ? null : 'left')
      if (!refused && !this.#ended) return { refusal: null }
      return refused && !this.#ended ? { refusal: 'script', reason: refused.reason } : { refusal: 'failed' }
    } catch {
      // The script may have the player in its list, or add them later.
      if (reservation) this.room.release(reservation, 'left')
      return { refusal: 'failed' }
    } finally {
      this.#admissions--
    }
  }

  /** Keeps the room for a moment for a player who is about to join. `unreserve` ends it when that is decided. */
  reserve(): void {
    const now = this.#clock.now().getTime()
    this.#reservedUntil = [...this.#reservedUntil.filter((until) => until > now), now + RESERVED_MS]
  }

  unreserve(): void {
    this.#reservedUntil.shift()
  }

  /** Whether nobody is in the room, and nobody is about to be. */
  get isEmpty(): boolean {
    return this.room.members.taken === 0 && this.#isIdle
  }

  /** Whether it is a former room to a player who has no place in it. */
  isOverFor(request: JoinRequest): boolean {
    return this.room.members.isAbandoned && this.#isIdle && placeOf(this.room, request) === null
  }

  /** Whether nobody is about to join. */
  get #isIdle(): boolean {
    const now = this.#clock.now().getTime()
    return this.#admissions === 0 && !this.#reservedUntil.some((until) => until > now)
  }

  /** Stores the script's snapshot, from which another node continues. */
  keepScript(data: string): void {
    this.#scriptData = data
    this.room.revision++
    this.#scriptChanged = this.#store !== null
    if (this.#store && !this.#persisting && !this.#ended) this.#begin(this.#store, null, [])
  }

  get recipients(): number {
    return this.room.size
  }

  flush(): number {
    if (this.#ended || this.#persisting) return 0
    const { room } = this
    const store = this.#store
    const batch = room.seal()
    const changes = store ? room.takeChanges() : []
    if (!batch && changes.length === 0) return 0
    if (store && (changes.length > 0 || store.lease !== 'held')) this.#begin(store, batch, changes)
    else batch?.deliver()
    return (batch?.size ?? 0) * room.size
  }

  /** Stores the whole room for the first time. */
  async begin(): Promise<boolean> {
    const snapshot = this.snapshot()
    this.#savedBytes = snapshot.length
    return this.#store === null || this.#store.save(snapshot)
  }

  /** Takes nothing more from players, since this node stops. */
  freeze(): void {
    this.room.freeze()
  }

  /**
   * Returns the room as it is at the end of this node, with a last snapshot of its script, as JSON text of a `Snapshot`. The
   * room's store has it then, and the players have been sent all that was said. Null: nobody is in the room, or another
   * node runs it.
   */
  async finish(timeoutMs: number): Promise<string | null> {
    await this.#script?.takeSnapshot(timeoutMs)
    this.flush()
    await this.#delivered
    this.room.noteLastFrames()
    if (this.#ended || this.room.size === 0) return null
    const snapshot = this.snapshot()
    await this.#store?.save(snapshot).catch(() => {})
    return snapshot
  }

  /** Extends the lifetime of the stored data. */
  async refresh(): Promise<void> {
    if (!this.#ended && this.#store && !(await this.#store.append([]))) this.end()
  }

  /** Stops running the room on this node. Its players find it again on another. */
  end(): void {
    if (this.#ended) return
    this.#script?.end()
    this.#stop(CLOSE.restart, 'moving')
  }

  /** Ends the room for all of its players. */
  endForAll(code: number, reason: string): void {
    if (this.#ended) return
    for (const { id, account } of this.room.members.byId.values()) this.#script?.left(id, 'closed', account)
    this.#script?.close()
    this.#stop(code, reason)
  }

  #stop(code: number, reason: string): void {
    this.#ended = true
    this.room.disconnect(code, reason)
    this.#onLost(this)
  }

  /**
   * Ends the room because nobody is in it. A player who was removed last is still told.
   *
   * @returns false while the room waits for its storage
   */
  retire(): boolean {
    if (this.#persisting) return false
    this.#script?.close()
    this.room.seal()?.deliver()
    this.#ended = true
    return true
  }

  /** Updates the message rate. It is called every second. */
  measure(): void {
    const taken = this.room.taken - this.#takenBefore
    this.#takenBefore = this.room.taken
    this.rate = this.rate * 0.5 + taken * 0.5
  }

  #begin(store: RoomStore, batch: Batch | null, changes: object[]): void {
    this.#delivered = this.#persistAndDeliver(store, batch, changes)
  }

  /** Delivers the batches in order, each after its changes are stored. */
  async #persistAndDeliver(store: RoomStore, first: Batch | null, changes: object[]): Promise<void> {
    this.#persisting = true
    let batch = first
    let next = changes
    while ((batch || next.length > 0 || this.#scriptChanged) && !this.#ended) {
      const texts = next.map((change) => JSON.stringify(change))
      if (this.#scriptChanged) texts.push(this.#scriptChange())
      this.#scriptChanged = false
      if (await this.#persist(store, texts)) batch?.deliver()
      else this.end()
      batch = this.room.seal()
      next = this.room.takeChanges()
    }
    this.#persisting = false
  }

  /** Returns a change of the script (`SavedScript`) as JSON text. Its data is JSON already. */
  #scriptChange(): string {
    const deployId = JSON.stringify(this.#script?.script.deployId ?? '')
    const data = this.#scriptData === null ? '' : `,"data":${this.#scriptData}`
    return `{"script":{"deployId":${deployId}${data}}}`
  }

  /** Returns the whole room with its script, as JSON text of a `Snapshot`. */
  snapshot(): string {
    const snapshot = this.room.snapshot()
    return this.#script ? `${snapshot.slice(0, -1)},${this.#scriptChange().slice(1)}` : snapshot
  }

  /** @returns whether the changes are stored and this node still runs the room */
  async #persist(store: RoomStore, texts: string[]): Promise<boolean> {
    const deadline = performance.now() + PATIENCE_MS
    for (let attempt = 0; store.lease !== 'lost' && performance.now() < deadline; attempt++) {
      try {
        if (texts.length > 0 && !(await this.#write(store, texts, attempt > 0))) return false
        if (store.lease === 'held') return true
      } catch (error) {
        if (attempt === 0)
          this.#log.warn({ err: error, room: this.room.id }, 'a room is paused: the bus does not answer')
      }
      await new Promise((done) => setTimeout(done, RETRY_MS))
    }
    return false
  }

  /** @param again after a failure, when the stored state is unknown; a full snapshot is correct in any case */
  #write(store: RoomStore, texts: string[], again: boolean): Promise<boolean> {
    if (!again && this.#appendedBytes <= Math.max(FOLD_BYTES, this.#savedBytes)) {
      for (const text of texts) this.#appendedBytes += text.length
      return store.append(texts)
    }
    const snapshot = this.snapshot()
    this.#savedBytes = snapshot.length
    this.#appendedBytes = 0
    return store.save(snapshot)
  }
}
