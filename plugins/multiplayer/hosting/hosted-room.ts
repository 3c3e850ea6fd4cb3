import type { FastifyBaseLogger } from 'fastify'
import type { Batch } from '../room/outbox.ts'
import { CLOSE, Room, type RoomParts } from '../room/room.ts'
import { type CoalescedWriter, DeliveryRate } from './write-coalescing.ts'

/** Durable storage of a room, from which another node can continue it. */
export interface RoomStore {
  /**
   * The state of this node's lease. `held`: this node runs the room. `unsure`: the bus does not answer. `lost`: another
   * node may run the room.
   */
  readonly lease: 'held' | 'unsure' | 'lost'
  /** Stores the whole room. @returns false when another node runs the room now. @throws BusUnavailable */
  save(snapshot: string): Promise<boolean>
  /** Appends changes, with the same results as `save`. */
  append(changes: string[]): Promise<boolean>
}

/** The size of changes that triggers a new snapshot, unless the snapshot itself is larger. */
const FOLD_BYTES = 64 * 1024
const RETRY_MS = 100
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
  /** The time until which an empty room is kept for a player who is about to join, in ms since 1970. */
  reservedUntil = 0
  readonly #store: RoomStore | null
  readonly #log: FastifyBaseLogger
  readonly #onLost: (room: HostedRoom) => void
  #ended = false
  #persisting = false
  #savedBytes = 0
  #appendedBytes = 0
  #takenBefore = 0

  constructor(
    gameId: string,
    roomId: string,
    parts: Omit<RoomParts, 'wake' | 'durable'> & {
      store: RoomStore | null
      log: FastifyBaseLogger
      wake: (room: HostedRoom) => void
      /** Called when another node runs the room, or this node can't tell. */
      onLost: (room: HostedRoom) => void
    },
  ) {
    this.gameId = gameId
    this.#store = parts.store
    this.#log = parts.log
    this.#onLost = parts.onLost
    this.room = new Room(roomId, { ...parts, durable: parts.store !== null, wake: () => parts.wake(this) })
  }

  get recipients(): number {
    return this.room.size
  }

  flush(): number {
    if (this.#ended || this.#persisting) return 0
    const { room } = this
    const store = this.#store
    const batch = room.seal()
    if (!batch) return 0
    const changes = store ? room.takeChanges() : []
    if (store && (changes.length > 0 || store.lease !== 'held')) void this.#persistAndDeliver(store, batch, changes)
    else batch.deliver()
    return batch.size * room.size
  }

  /** Stores the whole room for the first time. */
  async begin(): Promise<boolean> {
    const snapshot = this.room.snapshot()
    this.#savedBytes = snapshot.length
    return this.#store === null || this.#store.save(snapshot)
  }

  /** Extends the lifetime of the stored data. */
  async refresh(): Promise<void> {
    if (!this.#ended && this.#store && !(await this.#store.append([]))) this.end()
  }

  /** Stops running the room on this node. */
  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.room.disconnect(CLOSE.restart, 'moving')
    this.#onLost(this)
  }

  /** Updates the message rate. It is called every second. */
  measure(): void {
    const taken = this.room.taken - this.#takenBefore
    this.#takenBefore = this.room.taken
    this.rate = this.rate * 0.5 + taken * 0.5
  }

  /** Delivers the batches in order, each after its changes are stored. */
  async #persistAndDeliver(store: RoomStore, first: Batch, changes: object[]): Promise<void> {
    this.#persisting = true
    let batch: Batch | null = first
    for (let next = changes; batch && !this.#ended; batch = this.room.seal()) {
      if (batch !== first) next = this.room.takeChanges()
      if (await this.#persist(store, next)) batch.deliver()
      else this.end()
    }
    this.#persisting = false
  }

  /** @returns whether the changes are stored and this node still runs the room */
  async #persist(store: RoomStore, changes: object[]): Promise<boolean> {
    const texts = changes.map((change) => JSON.stringify(change))
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
    const snapshot = this.room.snapshot()
    this.#savedBytes = snapshot.length
    this.#appendedBytes = 0
    return store.save(snapshot)
  }
}
