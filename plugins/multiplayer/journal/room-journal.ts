import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import type { HostedRoom } from '../hosting/hosted-room.ts'
import { gameOf } from '../hosting/rooms.ts'
import type { Snapshot } from '../room/snapshot.ts'
import { RoomRecord } from './entities.ts'

/** The age at which a stored room is over, because nobody came back to it. */
const KEPT_MS = 10 * 60_000
/** The characters that one call of `write` stores. On a busy node the other rooms follow a second later. */
const MOST_AT_ONCE = 4 * 1024 * 1024
const ROWS_A_STATEMENT = 100
/** More ids than a room gives in the time between two records. Ids are never used twice in the lifetime of a room. */
const SKIPPED_IDS = 1000

/** A room in the form of its record. */
const keyOf = (scope: string, roomId: string) => `${scope}/${roomId}`

type Parts = Pick<FastifyInstance, 'db' | 'clock' | 'log'>

/**
 * The rooms of this node in the database: as they were at most a second ago, and exactly as they were at an orderly end.
 * After a restart the first player who comes back finds the room there.
 */
export class RoomJournal {
  readonly #parts: Parts
  /** Whether other nodes write records too. */
  readonly #isShared: boolean
  /** The keys of records that may exist. */
  readonly #known = new Set<string>()
  /** What is stored of each room, and since when. */
  readonly #stored = new WeakMap<HostedRoom, { revision: number; at: number }>()
  readonly #gone = new Set<string>()
  #writing: Promise<void> | null = null
  /** The start cleans first. A start that fails has no tables to clean. */
  #cleanedAt = Number.POSITIVE_INFINITY
  #isClosed = false

  constructor({ db, clock, log }: Parts, { isShared }: { isShared: boolean }) {
    this.#parts = { db, clock, log }
    this.#isShared = isShared
  }

  /** Finds the records of the time before the start. */
  async start(): Promise<void> {
    await this.#parts.db.transaction((em) => this.#clean(em))
    const rows = await this.#parts.db.query<{ id: string }>('select id from room_records')
    for (const { id } of rows) this.#known.add(id)
  }

  /** Whether there may be a record of a room. */
  mayHave(scope: string, roomId: string): boolean {
    const key = keyOf(scope, roomId)
    return !this.#gone.has(key) && (this.#isShared || this.#known.has(key))
  }

  /** Returns the record of a room that nobody runs, as JSON text of a `Snapshot`; null when there is none. */
  async load(scope: string, roomId: string): Promise<string | null> {
    if (!this.mayHave(scope, roomId)) return null
    const key = keyOf(scope, roomId)
    const record = await this.#parts.db.em().findOne(RoomRecord, key)
    if (!record || record.savedAt.getTime() < this.#oldest) return null
    this.#known.add(key)
    const snapshot = JSON.parse(record.snapshot) as Snapshot
    const isExact = snapshot.roster.members.every(({ sequence }) => sequence !== undefined)
    if (!isExact) snapshot.roster.ids += SKIPPED_IDS
    return JSON.stringify(snapshot)
  }

  /** Removes the record of a room that has ended. */
  forget({ gameId, room }: HostedRoom): void {
    const key = keyOf(gameId, room.id)
    if (this.#known.delete(key)) this.#gone.add(key)
  }

  /** Stores the rooms that have changed. It is called every second, and never rejects. */
  async write(rooms: Iterable<HostedRoom>): Promise<void> {
    if (this.#writing || this.#isClosed) return
    const now = this.#parts.clock.now().getTime()
    const rows: RoomRecord[] = []
    const written: { hosted: HostedRoom; revision: number }[] = []
    let size = 0
    for (const hosted of rooms) {
      const { revision, size: players } = hosted.room
      const stored = this.#stored.get(hosted)
      const isStored = stored?.revision === revision && now - stored.at < KEPT_MS / 2
      if (isStored || players === 0 || size > MOST_AT_ONCE) continue
      const snapshot = hosted.snapshot()
      size += snapshot.length
      rows.push(this.#rowOf(hosted, snapshot))
      written.push({ hosted, revision })
    }
    if (!(await this.#store(rows))) return
    for (const { hosted, revision } of written) this.#stored.set(hosted, { revision, at: now })
  }

  /** Stores the rooms for the last time. It never rejects. */
  async close(finals: { hosted: HostedRoom; snapshot: string }[]): Promise<void> {
    this.#isClosed = true
    await this.#writing
    await this.#store(finals.map(({ hosted, snapshot }) => this.#rowOf(hosted, snapshot)))
  }

  /** Runs in the transaction that permanently deletes a game. */
  async ofGame(em: SqlEntityManager, gameId: string): Promise<void> {
    await em.nativeDelete(RoomRecord, { gameId })
  }

  get #oldest(): number {
    return this.#parts.clock.now().getTime() - KEPT_MS
  }

  #rowOf({ gameId: scope, room }: HostedRoom, snapshot: string): RoomRecord {
    const id = keyOf(scope, room.id)
    return { id, gameId: gameOf(scope), savedAt: this.#parts.clock.now(), snapshot } as RoomRecord
  }

  /** @returns whether it is stored */
  async #store(rows: RoomRecord[]): Promise<boolean> {
    const gone = [...this.#gone]
    const isDue = this.#cleanedAt < this.#oldest
    if (rows.length + gone.length === 0 && !isDue) return true
    const { db, log } = this.#parts
    for (const { id } of rows) this.#known.add(id)
    const stored = db.transaction(async (em) => {
      // The records of former rooms go first, since a new room may have the same name.
      for (let at = 0; at < gone.length; at += ROWS_A_STATEMENT) {
        await em.nativeDelete(RoomRecord, { id: { $in: gone.slice(at, at + ROWS_A_STATEMENT) } })
      }
      for (let at = 0; at < rows.length; at += ROWS_A_STATEMENT) {
        await em.upsertMany(RoomRecord, rows.slice(at, at + ROWS_A_STATEMENT))
      }
      if (isDue) await this.#clean(em)
    })
    const settled = stored.then(
      () => true,
      (error) => {
        log.warn({ err: error }, 'rooms could not be stored; it will be tried again')
        return false
      },
    )
    this.#writing = settled.then(() => {})
    const isStored = await settled
    this.#writing = null
    if (isStored) for (const key of gone) this.#gone.delete(key)
    return isStored
  }

  async #clean(em: SqlEntityManager): Promise<void> {
    this.#cleanedAt = this.#parts.clock.now().getTime()
    await em.nativeDelete(RoomRecord, { savedAt: { $lt: new Date(this.#oldest) } })
  }
}
