import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { Bus } from '../../core/events.ts'
import { type JoinRequest, joinRoom, refusalOf, type Verdict } from './admission/join.ts'
import { RoomUnavailable } from './errors.ts'
import type { HostedRoom } from './hosting/hosted-room.ts'
import { openStored, type WantedRoom } from './hosting/open-stored.ts'
import { type ListOptions, type RoomInfo, type Rooms, scopeOf } from './hosting/rooms.ts'
import type { RoomJournal } from './journal/room-journal.ts'
import { LocalMembership, type Membership } from './membership.ts'
import { Ownership } from './nodes/ownership.ts'
import { SocketRelay } from './nodes/socket-relay.ts'
import type { Link } from './room/member.ts'
import type { ScriptSource } from './scripts/interface.ts'
import type { ScriptRuntime } from './scripts/script-runtime.ts'

/** The requested room, and the player. */
export interface RoomRequest extends JoinRequest {
  gameId: string
  /** The name of the preview whose page asks; null for the live game. */
  preview: string | null
  roomId: string
  /** Values of the game's settings. */
  maxPlayers: number
  hostPatienceSeconds: number
}

/** A room that was found on this node or another. */
export interface FoundRoom {
  verdict: Verdict
  /** Joins the room. Returns null if the room has become full. */
  join(link: Link): Membership | null
}

/** Finds rooms on this node, or on one of several. */
export interface RoomDirectory {
  find(wanted: RoomRequest): Promise<FoundRoom>
  /** Lists the occupied rooms of a game, by name. */
  list(gameId: string, options?: ListOptions): Promise<RoomInfo[]>
  start(): Promise<void>
  /** Called every second. */
  maintain(): Promise<void>
  stop(): Promise<void>
}

/** Sorts rooms by name, and among those of one name the live game's first. */
const byName = (rooms: RoomInfo[]) => {
  const nameOf = ({ id, preview }: RoomInfo) => `${id} ${preview ?? ''}`
  return rooms.sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
}

/** The source of the script that a room of this request would begin with. */
const servedNow = ({ preview }: RoomRequest): ScriptSource =>
  preview === null ? { from: 'live' } : { from: 'preview', preview }

/** The directory of a single node, which has all rooms. */
export class SingleNodeDirectory implements RoomDirectory {
  readonly #rooms: Rooms
  readonly #scripts: ScriptRuntime
  readonly #journal: RoomJournal
  /** The rooms of the time before the start that are being restored, by scope and name. */
  readonly #restoring = new Map<string, Promise<unknown>>()

  constructor({ rooms, scripts, journal }: { rooms: Rooms; scripts: ScriptRuntime; journal: RoomJournal }) {
    this.#rooms = rooms
    this.#scripts = scripts
    this.#journal = journal
    rooms.onEnded = (hosted) => journal.forget(hosted)
  }

  async find(wanted: RoomRequest): Promise<FoundRoom> {
    const scope = scopeOf(wanted.gameId, wanted.preview)
    if (this.#journal.mayHave(scope, wanted.roomId)) await this.#restore(scope, wanted)
    const known = this.#rooms.find(scope, wanted.roomId)
    if (known?.isOverFor(wanted)) this.#rooms.replace(known)
    const hosted = this.#rooms.find(scope, wanted.roomId) ?? (await this.#openScripted(scope, wanted))
    if (hosted?.script) {
      hosted.reserve()
      const verdict = await admitReserved(hosted, wanted)
      return { verdict, join: (link) => joinHosted(this.#rooms, hosted, wanted, verdict, link) }
    }
    return {
      verdict: { refusal: hosted ? refusalOf(hosted.room, wanted) : null },
      join: (link) => {
        const { room } = this.#rooms.open(scope, wanted.roomId, wanted)
        const member = joinRoom(room, wanted, link)
        return member && new LocalMembership(room, member, link)
      },
    }
  }

  /** Continues a room of the time before the start of this process. */
  async #restore(scope: string, wanted: RoomRequest): Promise<void> {
    const key = `${scope}/${wanted.roomId}`
    const restoring = this.#restoring.get(key) ?? this.#open(scope, wanted)
    this.#restoring.set(key, restoring)
    try {
      await restoring
    } finally {
      this.#restoring.delete(key)
    }
  }

  async #open(scope: string, wanted: RoomRequest): Promise<void> {
    if (this.#rooms.find(scope, wanted.roomId)) return
    const snapshot = await this.#journal.load(scope, wanted.roomId)
    if (snapshot) await openStored(this.#rooms, wantedRoom(this.#scripts, scope, wanted), null, [snapshot])
  }

  /** Opens a room that has a script, since the script decides on admission. Other rooms open with the first socket. */
  async #openScripted(scope: string, wanted: RoomRequest): Promise<HostedRoom | undefined> {
    const script = await this.#scripts.scriptFor(wanted.gameId, servedNow(wanted))
    return script
      ? this.#rooms.open(scope, wanted.roomId, { ...wanted, script })
      : this.#rooms.find(scope, wanted.roomId)
  }

  async list(gameId: string, options: ListOptions = {}): Promise<RoomInfo[]> {
    return byName(this.#rooms.list(gameId, options))
  }

  start(): Promise<void> {
    return this.#journal.start()
  }

  async maintain(): Promise<void> {
    this.#rooms.sweep()
    await this.#journal.write(this.#rooms)
  }

  stop(): Promise<void> {
    return stopRooms(this.#rooms, this.#journal)
  }
}

const wantedRoom = (scripts: ScriptRuntime, scope: string, wanted: RoomRequest): WantedRoom => ({
  scope,
  roomId: wanted.roomId,
  maxPlayers: wanted.maxPlayers,
  hostPatienceSeconds: wanted.hostPatienceSeconds,
  script: (source) => scripts.scriptFor(wanted.gameId, source ?? servedNow(wanted)),
})

/** Stores all rooms as they are, for their next node, and ends them. */
async function stopRooms(rooms: Rooms, journal: RoomJournal | null): Promise<void> {
  // All at once: no player may hear of the end of another's connection.
  for (const hosted of rooms) hosted.freeze()
  const snapshots = Array.from(rooms, async (hosted) => ({ hosted, snapshot: await hosted.finish(HAND_OVER_MS) }))
  const finals = await Promise.all(snapshots)
  await journal?.close(finals.flatMap(({ hosted, snapshot }) => (snapshot === null ? [] : [{ hosted, snapshot }])))
  for (const hosted of rooms) hosted.end()
}

/** Decides on admission to a room that is reserved for this. It stays so until the player has joined. */
async function admitReserved(hosted: HostedRoom, wanted: RoomRequest): Promise<Verdict> {
  const verdict = await hosted.admit(wanted)
  if (verdict.refusal || wanted.inquiry) hosted.unreserve()
  return verdict
}

/** Joins a room of this node. Null: it has ended or moved in the meantime, or became full. */
function joinHosted(
  rooms: Rooms,
  hosted: HostedRoom,
  wanted: RoomRequest,
  { reservation }: Verdict,
  link: Link,
): Membership | null {
  if (rooms.find(hosted.gameId, wanted.roomId) !== hosted) return null
  const member = joinRoom(hosted.room, wanted, link, reservation)
  hosted.unreserve()
  return member && new LocalMembership(hosted.room, member, link)
}

/** The time for which a player waits until another node takes over the room of a failed node. */
const PATIENCE_MS = 6000
const RETRY_MS = 200
/** How long another node may take to decide on admission. The script of the room may wait for saves. */
const VERDICT_MS = 12_000

/** The longest time for a last snapshot of the scripts when this node stops. A busy machine may need seconds. */
const HAND_OVER_MS = 5000

interface ClusterParts {
  bus: Bus
  rooms: Rooms
  scripts: ScriptRuntime
  /** For a bus that does not outlive its nodes; null otherwise. */
  journal: RoomJournal | null
  log: FastifyBaseLogger
}

/** The directory of one of several nodes on a shared bus. */
export class ClusterDirectory implements RoomDirectory {
  readonly #rooms: Rooms
  readonly #relay: SocketRelay
  readonly #ownership: Ownership
  readonly #scripts: ScriptRuntime
  readonly #journal: RoomJournal | null
  readonly #log: FastifyBaseLogger

  constructor({ bus, rooms, scripts, journal, log }: ClusterParts) {
    this.#journal = journal
    this.#rooms = rooms
    this.#scripts = scripts
    this.#log = log
    this.#relay = new SocketRelay(bus, rooms, log)
    this.#ownership = new Ownership(bus, this.#relay.nodes, rooms, journal)
    rooms.onEnded = (hosted) => {
      journal?.forget(hosted)
      void this.#ownership.release([hosted])
    }
  }

  /** @throws RoomUnavailable, BusUnavailable */
  async find(wanted: RoomRequest): Promise<FoundRoom> {
    const { gameId, roomId, account, resume, acks, inquiry } = wanted
    const scope = scopeOf(gameId, wanted.preview)
    const request = { gameId: scope, roomId, account, resume, acks, inquiry }
    const known = this.#rooms.find(scope, roomId)
    if (known?.isOverFor(wanted)) this.#rooms.replace(known)
    for (const deadline = performance.now() + PATIENCE_MS; performance.now() < deadline; await sleep(RETRY_MS)) {
      const found = await this.#ownership.find(wantedRoom(this.#scripts, scope, wanted))
      if (typeof found !== 'string') {
        const verdict = await admitReserved(found, wanted)
        return { verdict, join: (link) => joinHosted(this.#rooms, found, wanted, verdict, link) }
      }
      const answer = await this.#relay.nodes.ask<'verdict'>(found, { t: 'mayEnter', ...request }, VERDICT_MS)
      if (!answer || answer.verdict === 'elsewhere') continue
      const { verdict } = answer
      return { verdict, join: (link) => this.#relay.join(found, request, link, verdict.reservation) }
    }
    throw new RoomUnavailable()
  }

  async list(gameId: string, options: ListOptions = {}): Promise<RoomInfo[]> {
    const { nodes } = this.#relay
    const question = { t: 'list', gameId, ...options } as const
    const answers = await Promise.all(nodes.ids.map((node) => nodes.ask<'rooms'>(node, question)))
    return byName([...this.#rooms.list(gameId, options), ...answers.flatMap((answer) => answer?.rooms ?? [])])
  }

  async start(): Promise<void> {
    await this.#journal?.start()
    await this.#relay.nodes.start()
  }

  async maintain(): Promise<void> {
    try {
      this.#rooms.sweep()
      await this.#journal?.write(this.#rooms)
      await this.#ownership.maintain()
    } catch (error) {
      this.#log.warn({ err: error }, 'rooms cannot be maintained: the bus does not answer')
    }
  }

  /** Hands the rooms of this node over to the others. */
  async stop(): Promise<void> {
    await stopRooms(this.#rooms, this.#journal)
    await this.#relay.nodes.stop()
  }
}
