import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../../core/clock.ts'
import type { Bus } from '../../core/events.ts'
import { type Applicant, enter, verdictOn } from './entering.ts'
import { RoomUnavailable } from './errors.ts'
import { Guests } from './nodes/guests.ts'
import { Ownership } from './nodes/ownership.ts'
import type { Link } from './room/member.ts'
import type { Refusal } from './room/room.ts'
import type { RoomInfo, Rooms } from './rooms.ts'
import { RoomSeat, type Seat } from './seat.ts'

/** Which room somebody wants, and who it is. */
export interface Wish extends Applicant {
  gameId: string
  roomId: string
  /** What the game's settings say. */
  maxPlayers: number
}

/** A room that was found, wherever it is. */
export interface Place {
  verdict: Refusal | null
  /** Sits down. Null when the room can't take them any more: somebody was faster. */
  sit(link: Link): Seat | null
}

/** Where rooms are: on this node, or on one of several. */
export interface Places {
  find(wish: Wish): Promise<Place>
  /** The rooms of a game that there is somebody in, by name. */
  list(gameId: string): Promise<RoomInfo[]>
  start(): Promise<void>
  /** Called every second. */
  tend(): Promise<void>
  stop(): Promise<void>
}

const byName = (rooms: RoomInfo[]) => rooms.sort((a, b) => (a.id < b.id ? -1 : 1))

/** The only node: all rooms are here, and nothing is asked of anybody. */
export class OneNode implements Places {
  readonly #rooms: Rooms

  constructor(rooms: Rooms) {
    this.#rooms = rooms
  }

  async find(wish: Wish): Promise<Place> {
    const hosted = this.#rooms.find(wish.gameId, wish.roomId)
    return {
      verdict: hosted ? verdictOn(hosted.room, wish) : null,
      sit: (link) => {
        const { room } = this.#rooms.open(wish.gameId, wish.roomId, wish.maxPlayers)
        const member = enter(room, wish, link)
        return member && new RoomSeat(room, member, link)
      },
    }
  }

  async list(gameId: string): Promise<RoomInfo[]> {
    return byName(this.#rooms.list(gameId))
  }

  async start(): Promise<void> {}

  async tend(): Promise<void> {
    this.#rooms.sweep()
  }

  async stop(): Promise<void> {}
}

/** How long a newcomer waits for a room whose node has just died, until another has it. */
const PATIENCE_MS = 6000
const RETRY_MS = 200

/** One node of several on a shared bus. */
export class ManyNodes implements Places {
  readonly #rooms: Rooms
  readonly #guests: Guests
  readonly #ownership: Ownership
  readonly #log: FastifyBaseLogger

  constructor({ bus, rooms, log, clock }: { bus: Bus; rooms: Rooms; log: FastifyBaseLogger; clock: Clock }) {
    this.#rooms = rooms
    this.#log = log
    this.#guests = new Guests(bus, rooms, log)
    this.#ownership = new Ownership(bus, this.#guests.nodes, rooms, clock)
  }

  /** @throws RoomUnavailable, BusUnavailable */
  async find(wish: Wish): Promise<Place> {
    const { gameId, roomId, account, resume } = wish
    const entrance = { gameId, roomId, account, resume }
    for (const deadline = performance.now() + PATIENCE_MS; performance.now() < deadline; await sleep(RETRY_MS)) {
      const found = await this.#ownership.find(gameId, roomId, wish.maxPlayers)
      if (typeof found !== 'string') {
        const { room } = found
        return {
          verdict: verdictOn(room, wish),
          sit: (link) => {
            // Between the question and now the room may have moved.
            if (this.#rooms.find(gameId, roomId) !== found) return null
            const member = enter(room, wish, link)
            return member && new RoomSeat(room, member, link)
          },
        }
      }
      const answer = await this.#guests.nodes.ask<'verdict'>(found, { t: 'mayEnter', ...entrance })
      if (!answer || answer.verdict === 'elsewhere') continue
      return { verdict: answer.verdict, sit: (link) => this.#guests.seat(found, entrance, link) }
    }
    throw new RoomUnavailable()
  }

  async list(gameId: string): Promise<RoomInfo[]> {
    const { nodes } = this.#guests
    const answers = await Promise.all(nodes.peers.map((node) => nodes.ask<'rooms'>(node, { t: 'list', gameId })))
    return byName([...this.#rooms.list(gameId), ...answers.flatMap((answer) => answer?.rooms ?? [])])
  }

  start(): Promise<void> {
    return this.#guests.nodes.start()
  }

  async tend(): Promise<void> {
    try {
      await this.#ownership.release(this.#rooms.sweep())
      await this.#ownership.tend()
    } catch (error) {
      this.#log.warn({ err: error }, 'rooms can not be tended: the bus does not answer')
    }
  }

  /** The rooms of this node are free for the others, who begin where they stood. */
  async stop(): Promise<void> {
    for (const hosted of this.#rooms) hosted.end()
    await this.#guests.nodes.stop()
  }
}
