import type { FastifyBaseLogger } from 'fastify'
import { Load, type Sender } from './delivery.ts'
import type { Batch } from './room/outbox.ts'
import { CLOSE, Room, type RoomParts } from './room/room.ts'

/** Where a room is kept so that another node can go on with it. */
export interface SafePlace {
  /** `held`: this node may speak for the room. `unsure`: the bus does not say. `lost`: another node may by now. */
  readonly standing: 'held' | 'unsure' | 'lost'
  /** Puts the whole room there. @returns false when the room is another node's by now. @throws BusUnavailable */
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
 * A room on the node that runs it: hands over what it says. Where the room is kept in a safe place, what it says waits
 * until the changes that it speaks of are there; meanwhile more is collected, so that one trip serves many messages.
 */
export class HostedRoom implements Sender {
  readonly gameId: string
  readonly room: Room
  readonly load = new Load()
  /** Messages taken in the last seconds, a second. */
  rate = 0
  /** Until when it stays though it is empty, because somebody is about to come in; in ms since 1970. */
  reservedUntil = 0
  readonly #place: SafePlace | null
  readonly #log: FastifyBaseLogger
  readonly #onLost: (room: HostedRoom) => void
  #ended = false
  #keeping = false
  #savedBytes = 0
  #appendedBytes = 0
  #takenBefore = 0

  constructor(
    gameId: string,
    roomId: string,
    parts: Omit<RoomParts, 'wake' | 'durable'> & {
      place: SafePlace | null
      log: FastifyBaseLogger
      wake: (room: HostedRoom) => void
      /** The room is another node's now, or nobody can tell whose. */
      onLost: (room: HostedRoom) => void
    },
  ) {
    this.gameId = gameId
    this.#place = parts.place
    this.#log = parts.log
    this.#onLost = parts.onLost
    this.room = new Room(roomId, { ...parts, durable: parts.place !== null, wake: () => parts.wake(this) })
  }

  get recipients(): number {
    return this.room.size
  }

  handOver(): number {
    if (this.#ended || this.#keeping) return 0
    const { room } = this
    const place = this.#place
    const batch = room.seal()
    if (!batch) return 0
    const changes = place ? room.takeChanges() : []
    if (place && (changes.length > 0 || place.standing !== 'held')) void this.#keep(place, batch, changes)
    else batch.deliver()
    return batch.size * room.size
  }

  /** Puts the whole room into its safe place, for the first time. */
  async begin(): Promise<boolean> {
    const snapshot = this.room.snapshot()
    this.#savedBytes = snapshot.length
    return this.#place === null || this.#place.save(snapshot)
  }

  /** Makes what is kept last. */
  async refresh(): Promise<void> {
    if (!this.#ended && this.#place && !(await this.#place.append([]))) this.end()
  }

  /** This node has nothing to say in the room any more. */
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

  /** Delivers batch after batch, each once its changes are safe. */
  async #keep(place: SafePlace, first: Batch, changes: object[]): Promise<void> {
    this.#keeping = true
    let batch: Batch | null = first
    for (let next = changes; batch && !this.#ended; batch = this.room.seal()) {
      if (batch !== first) next = this.room.takeChanges()
      if (await this.#store(place, next)) batch.deliver()
      else this.end()
    }
    this.#keeping = false
  }

  /** @returns whether the changes are safe and the room still this node's */
  async #store(place: SafePlace, changes: object[]): Promise<boolean> {
    const texts = changes.map((change) => JSON.stringify(change))
    const deadline = performance.now() + PATIENCE_MS
    for (let attempt = 0; place.standing !== 'lost' && performance.now() < deadline; attempt++) {
      try {
        if (texts.length > 0 && !(await this.#write(place, texts, attempt > 0))) return false
        if (place.standing === 'held') return true
      } catch (error) {
        if (attempt === 0) this.#log.warn({ err: error, room: this.room.id }, 'a room waits for the bus')
      }
      await new Promise((done) => setTimeout(done, RETRY_MS))
    }
    return false
  }

  /** @param again after a failure nobody knows what has arrived: the whole is right in any case */
  #write(place: SafePlace, texts: string[], again: boolean): Promise<boolean> {
    if (!again && this.#appendedBytes <= Math.max(FOLD_BYTES, this.#savedBytes)) {
      for (const text of texts) this.#appendedBytes += text.length
      return place.append(texts)
    }
    const snapshot = this.room.snapshot()
    this.#savedBytes = snapshot.length
    this.#appendedBytes = 0
    return place.save(snapshot)
  }
}
