import type { Bus } from '../../../core/events.ts'
import type { HostedRoom, RoomStore } from '../hosting/hosted-room.ts'
import { openStored, type WantedRoom } from '../hosting/open-stored.ts'
import type { Rooms } from '../hosting/rooms.ts'
import type { RoomJournal } from '../journal/room-journal.ts'
import type { Peers } from './peers.ts'

/** The lifetime of a room's stored data after its last change. An active room renews it at half time. */
const KEPT_MS = 120_000

const keyOf = (gameId: string, roomId: string) => `room/${gameId}/${roomId}`

/** Stores a room on the shared bus, under this node's lease. */
class BusRoomStore implements RoomStore {
  lost = false
  fence: number
  renewedAt = performance.now()
  readonly #bus: Bus
  readonly #nodes: Peers
  readonly #key: string

  constructor(bus: Bus, nodes: Peers, key: string, fence: number) {
    this.#bus = bus
    this.#nodes = nodes
    this.#key = key
    this.fence = fence
  }

  get lease(): RoomStore['lease'] {
    if (this.lost) return 'lost'
    return this.#nodes.isValid ? 'held' : 'unsure'
  }

  save(snapshot: string): Promise<boolean> {
    return this.#bus.save(this.#key, this.fence, snapshot, KEPT_MS)
  }

  append(changes: string[]): Promise<boolean> {
    return this.#bus.append(this.#key, this.fence, changes, KEPT_MS)
  }
}

/** Tracks which of several nodes runs each room: each room has a lease, which is held while its node lives. */
export class Ownership {
  readonly #bus: Bus
  readonly #nodes: Peers
  readonly #rooms: Rooms
  readonly #stores = new Map<HostedRoom, BusRoomStore>()
  readonly #taking = new Map<string, Promise<HostedRoom | string>>()
  readonly #releasing = new Map<string, Promise<void>>()
  readonly #journal: RoomJournal | null

  /** @param journal for a bus that does not outlive its nodes */
  constructor(bus: Bus, nodes: Peers, rooms: Rooms, journal: RoomJournal | null) {
    this.#journal = journal
    this.#bus = bus
    this.#nodes = nodes
    this.#rooms = rooms
  }

  /** Returns the room, which this node now runs, or the id of the node that runs it. @throws BusUnavailable */
  async find(wanted: WantedRoom): Promise<HostedRoom | string> {
    const known = this.#rooms.find(wanted.scope, wanted.roomId)
    if (known && this.#nodes.isValid) return this.#reserve(known)
    const key = keyOf(wanted.scope, wanted.roomId)
    await this.#releasing.get(key)
    const taking = this.#taking.get(key) ?? this.#take(key, wanted)
    this.#taking.set(key, taking)
    try {
      const found = await taking
      return typeof found === 'string' ? found : this.#reserve(found)
    } finally {
      this.#taking.delete(key)
    }
  }

  /** Releases the leases of rooms that have ended. */
  async release(gone: HostedRoom[]): Promise<void> {
    // All are marked before the first wait: a player who enters one of them meanwhile waits until its lease is released.
    await Promise.all(gone.map((hosted) => this.#release(hosted)))
  }

  async #release(hosted: HostedRoom): Promise<void> {
    const store = this.#stores.get(hosted)
    this.#stores.delete(hosted)
    if (!store || store.lost) return
    const key = keyOf(hosted.gameId, hosted.room.id)
    const releasing = this.#bus.release(key, this.#nodes.id).catch(() => {})
    this.#releasing.set(key, releasing)
    await releasing
    if (this.#releasing.get(key) === releasing) this.#releasing.delete(key)
  }

  /**
   * Renews stored data. After an interruption it determines which rooms this node still owns. It is called every
   * second.
   */
  async maintain(): Promise<void> {
    if (this.#nodes.lapsed) return this.#reclaim()
    const now = performance.now()
    for (const [hosted, store] of this.#stores) {
      if (this.#rooms.find(hosted.gameId, hosted.room.id) !== hosted) this.#stores.delete(hosted)
      else if (now - store.renewedAt > KEPT_MS / 2) {
        store.renewedAt = now
        const lease = await this.#bus.acquire(keyOf(hosted.gameId, hosted.room.id), this.#nodes.id)
        if (lease.fence === store.fence) await hosted.refresh()
        else this.#lose(hosted, store)
      }
    }
  }

  /**
   * Reclaims rooms after missed heartbeats or a restart of the bus. The node keeps the rooms that no other node took.
   */
  async #reclaim(): Promise<void> {
    for (const [hosted, store] of this.#stores) {
      const key = keyOf(hosted.gameId, hosted.room.id)
      const lease = await this.#bus.acquire(key, this.#nodes.id)
      const record = lease.holder === this.#nodes.id ? await this.#bus.load(key) : null
      const mine = lease.holder === this.#nodes.id && (record === null || record.fence === store.fence)
      store.fence = lease.fence
      if (!mine || !(await hosted.begin())) this.#lose(hosted, store)
    }
    this.#nodes.lapsed = false
  }

  #reserve(hosted: HostedRoom): HostedRoom {
    hosted.reserve()
    return hosted
  }

  #lose(hosted: HostedRoom, store: BusRoomStore): void {
    store.lost = true
    this.#stores.delete(hosted)
    hosted.end()
  }

  async #take(key: string, wanted: WantedRoom): Promise<HostedRoom | string> {
    if (this.#nodes.lapsed) await this.#reclaim()
    const lease = await this.#bus.acquire(key, this.#nodes.id)
    if (lease.holder !== this.#nodes.id) return lease.holder
    const { scope, roomId } = wanted
    const known = this.#rooms.find(scope, roomId)
    if (known) return known
    const store = new BusRoomStore(this.#bus, this.#nodes, key, lease.fence)
    const record = await this.#bus.load(key)
    const snapshot = record ? null : await this.#journal?.load(scope, roomId)
    const hosted = await openStored(this.#rooms, wanted, store, record?.texts ?? (snapshot ? [snapshot] : null))
    // The room is empty while it is stored, and must not be swept meanwhile.
    hosted.reserve()
    this.#stores.set(hosted, store)
    // The first write of a new owner revokes the former owner's write access.
    if (!(await hosted.begin())) this.#lose(hosted, store)
    hosted.unreserve()
    return hosted
  }
}
