import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../../core/clock.ts'
import type { Bus } from '../../core/events.ts'
import { type JoinRequest, joinRoom, refusalOf } from './admission/join.ts'
import { RoomUnavailable } from './errors.ts'
import type { RoomInfo, Rooms } from './hosting/rooms.ts'
import { LocalMembership, type Membership } from './membership.ts'
import { Ownership } from './nodes/ownership.ts'
import { SocketRelay } from './nodes/socket-relay.ts'
import type { Link } from './room/member.ts'
import type { Refusal } from './room/room.ts'

/** The requested room, and the player. */
export interface RoomRequest extends JoinRequest {
  gameId: string
  roomId: string
  /** The value of the game's settings. */
  maxPlayers: number
}

/** A room that was found on this node or another. */
export interface FoundRoom {
  refusal: Refusal | null
  /** Joins the room. Returns null if the room has become full. */
  join(link: Link): Membership | null
}

/** Finds rooms on this node, or on one of several. */
export interface RoomDirectory {
  find(wanted: RoomRequest): Promise<FoundRoom>
  /** Lists the occupied rooms of a game, by name. */
  list(gameId: string): Promise<RoomInfo[]>
  start(): Promise<void>
  /** Called every second. */
  maintain(): Promise<void>
  stop(): Promise<void>
}

const byName = (rooms: RoomInfo[]) => rooms.sort((a, b) => (a.id < b.id ? -1 : 1))

/** The directory of a single node, which has all rooms. */
export class SingleNodeDirectory implements RoomDirectory {
  readonly #rooms: Rooms

  constructor(rooms: Rooms) {
    this.#rooms = rooms
  }

  async find(wanted: RoomRequest): Promise<FoundRoom> {
    const hosted = this.#rooms.find(wanted.gameId, wanted.roomId)
    return {
      refusal: hosted ? refusalOf(hosted.room, wanted) : null,
      join: (link) => {
        const { room } = this.#rooms.open(wanted.gameId, wanted.roomId, wanted.maxPlayers)
        const member = joinRoom(room, wanted, link)
        return member && new LocalMembership(room, member, link)
      },
    }
  }

  async list(gameId: string): Promise<RoomInfo[]> {
    return byName(this.#rooms.list(gameId))
  }

  async start(): Promise<void> {}

  async maintain(): Promise<void> {
    this.#rooms.sweep()
  }

  async stop(): Promise<void> {}
}

/** The time for which a player waits until another node takes over the room of a failed node. */
const PATIENCE_MS = 6000
const RETRY_MS = 200

/** The directory of one of several nodes on a shared bus. */
export class ClusterDirectory implements RoomDirectory {
  readonly #rooms: Rooms
  readonly #relay: SocketRelay
  readonly #ownership: Ownership
  readonly #log: FastifyBaseLogger

  constructor({ bus, rooms, log, clock }: { bus: Bus; rooms: Rooms; log: FastifyBaseLogger; clock: Clock }) {
    this.#rooms = rooms
    this.#log = log
    this.#relay = new SocketRelay(bus, rooms, log)
    this.#ownership = new Ownership(bus, this.#relay.nodes, rooms, clock)
  }

  /** @throws RoomUnavailable, BusUnavailable */
  async find(wanted: RoomRequest): Promise<FoundRoom> {
    const { gameId, roomId, account, resume } = wanted
    const request = { gameId, roomId, account, resume }
    for (const deadline = performance.now() + PATIENCE_MS; performance.now() < deadline; await sleep(RETRY_MS)) {
      const found = await this.#ownership.find(gameId, roomId, wanted.maxPlayers)
      if (typeof found !== 'string') {
        const { room } = found
        return {
          refusal: refusalOf(room, wanted),
          join: (link) => {
            // The room may have moved in the meantime.
            if (this.#rooms.find(gameId, roomId) !== found) return null
            const member = joinRoom(room, wanted, link)
            return member && new LocalMembership(room, member, link)
          },
        }
      }
      const answer = await this.#relay.nodes.ask<'verdict'>(found, { t: 'mayEnter', ...request })
      if (!answer || answer.verdict === 'elsewhere') continue
      return { refusal: answer.verdict, join: (link) => this.#relay.join(found, request, link) }
    }
    throw new RoomUnavailable()
  }

  async list(gameId: string): Promise<RoomInfo[]> {
    const { nodes } = this.#relay
    const answers = await Promise.all(nodes.ids.map((node) => nodes.ask<'rooms'>(node, { t: 'list', gameId })))
    return byName([...this.#rooms.list(gameId), ...answers.flatMap((answer) => answer?.rooms ?? [])])
  }

  start(): Promise<void> {
    return this.#relay.nodes.start()
  }

  async maintain(): Promise<void> {
    try {
      await this.#ownership.release(this.#rooms.sweep())
      await this.#ownership.maintain()
    } catch (error) {
      this.#log.warn({ err: error }, 'rooms can not be maintained: the bus does not answer')
    }
  }

  /** Hands the rooms of this node over to the others. */
  async stop(): Promise<void> {
    for (const hosted of this.#rooms) hosted.end()
    await this.#relay.nodes.stop()
  }
}
