import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { Bus } from '../../core/events.ts'
import { type JoinRequest, joinRoom, refusalOf, type Verdict } from './admission/join.ts'
import { RoomUnavailable } from './errors.ts'
import type { HostedRoom } from './hosting/hosted-room.ts'
import { type ListOptions, type RoomInfo, type Rooms, scopeOf } from './hosting/rooms.ts'
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

  constructor({ rooms, scripts }: { rooms: Rooms; scripts: ScriptRuntime }) {
    this.#rooms = rooms
    this.#scripts = scripts
  }

  async find(wanted: RoomRequest): Promise<FoundRoom> {
    const scope = scopeOf(wanted.gameId, wanted.preview)
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

  async start(): Promise<void> {}

  async maintain(): Promise<void> {
    this.#rooms.sweep()
  }

  async stop(): Promise<void> {}
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

/** The longest time for a last snapshot of the scripts when this node stops. A busy machine may need seconds. */
const HAND_OVER_MS = 5000

interface ClusterParts {
  bus: Bus
  rooms: Rooms
  scripts: ScriptRuntime
  log: FastifyBaseLogger
}

/** The directory of one of several nodes on a shared bus. */
export class ClusterDirectory implements RoomDirectory {
  readonly #rooms: Rooms
  readonly #relay: SocketRelay
  readonly #ownership: Ownership
  readonly #scripts: ScriptRuntime
  readonly #log: FastifyBaseLogger

  constructor({ bus, rooms, scripts, log }: ClusterParts) {
    this.#rooms = rooms
    this.#scripts = scripts
    this.#log = log
    this.#relay = new SocketRelay(bus, rooms, log)
    this.#ownership = new Ownership(bus, this.#relay.nodes, rooms)
    rooms.onEnded = (hosted) => void this.#ownership.release([hosted])
  }

  /** @throws RoomUnavailable, BusUnavailable */
  async find(wanted: RoomRequest): Promise<FoundRoom> {
    const { gameId, roomId, account, resume, acks, inquiry } = wanted
    const scope = scopeOf(gameId, wanted.preview)
    const request = { gameId: scope, roomId, account, resume, acks, inquiry }
    const script = (source: ScriptSource | null) => this.#scripts.scriptFor(gameId, source ?? servedNow(wanted))
    const { maxPlayers, hostPatienceSeconds } = wanted
    const known = this.#rooms.find(scope, roomId)
    if (known?.isOverFor(wanted)) this.#rooms.replace(known)
    for (const deadline = performance.now() + PATIENCE_MS; performance.now() < deadline; await sleep(RETRY_MS)) {
      const found = await this.#ownership.find({ scope, roomId, maxPlayers, hostPatienceSeconds, script })
      if (typeof found !== 'string') {
        const verdict = await admitReserved(found, wanted)
        return { verdict, join: (link) => joinHosted(this.#rooms, found, wanted, verdict, link) }
      }
      const answer = await this.#relay.nodes.ask<'verdict'>(found, { t: 'mayEnter', ...request })
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

  start(): Promise<void> {
    return this.#relay.nodes.start()
  }

  async maintain(): Promise<void> {
    try {
      this.#rooms.sweep()
      await this.#ownership.maintain()
    } catch (error) {
      this.#log.warn({ err: error }, 'rooms cannot be maintained: the bus does not answer')
    }
  }

  /** Hands the rooms of this node over to the others. */
  async stop(): Promise<void> {
    await Promise.all(Array.from(this.#rooms, (hosted) => hosted.handOver(HAND_OVER_MS)))
    for (const hosted of this.#rooms) hosted.end()
    await this.#relay.nodes.stop()
  }
}
