import type { FastifyBaseLogger } from 'fastify'
import type { Batch } from '../room/outbox.ts'
import { CLOSE, Room, type RoomParts } from '../room/room.ts'
import { type CoalescedWriter, DeliveryRate } from './write-coalescing.ts'

/** Durable storage of a room, from which another node can continue it. */
export interface RoomStore {
  /** State of this node's lease. `held`: it runs the room. `unsure`: the bus does not answer. `lost`: another node may run it. */
  readonly lease: 'held' | 'unsure' | 'lost'
  /** Stores the whole room. @returns false when another node runs the room by now. @throws BusUnavailable */
  save(snapshot: string): Promise<boolean>
  /** Adds changes to it. As `save`. */
  append(changes: string[]): Promise<boolean>
}

/** Changes are folded into a new snapshot when they have grown to this, or to the snapshot's own size. */
const FOLD_BYTES = 64 * 1024
const RETRY_MS = 100
/** How long a room waits for a bus that is away before its players are sent to look for it anew. */
const PATIENCE_MS = 5000

/**
 * A room on the node that runs it. With a store, a message waits until the state change that it reports is stored.
 * Meanwhile more messages are collected, so that one round trip serves many.
 */
export class HostedRoom implements CoalescedWriter {
  readonly gameId: string
  readonly room: Room
  readonly deliveryRate = new DeliveryRate()
  /** Messages taken in the last seconds, a second. */
  rate = 0
  /** An empty room stays until then, since a player is about to join; in ms since 1970. */
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
      /** Another node runs the room now, or this node can't know. */
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

  /** Extends the life of what is stored. */
  async refresh(): Promise<void> {
    if (!this.#ended && this.#store && !(await this.#store.append([]))) this.end()
  }

  /** This node does not run the room any more. */
  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.room.disconnect(CLOSE.restart, 'moving')
    this.#onLost(this)
  }

  /** Called every second. */
  measure(): void {
    const taken = this.room.taken - this.#takenBefore
    this.#takenBefore = this.room.taken
    this.rate = this.rate * 0.5 + taken * 0.5
  }

  /** Delivers batch after batch, each once its changes are stored. */
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

  /** @param again after a failure nobody knows what has arrived: the whole is right in any case */
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
