import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../../../core/clock.ts'
import { randomText } from '../../../core/ids.ts'
import type { RoomLimits } from '../room/room.ts'
import { snapshotFrom } from '../room/snapshot.ts'
import type { MultiplayerLimits } from '../schemas.ts'
import { HostedRoom, type RoomStore } from './hosted-room.ts'
import type { WriteCoalescer } from './write-coalescing.ts'

/** The maximum size of the frames that a room keeps for replay. Their number is limited too. */
const REPLAY_BYTES = 1024 * 1024

/** A room in the form that lists show. */
export interface RoomInfo {
  id: string
  players: number
  capacity: number
  locked: boolean
  /** The recent number of messages per second. */
  rate: number
  people: { name: string; imageUrl: string | null; away: boolean }[]
}

interface RoomsParts {
  clock: Clock
  limits: MultiplayerLimits
  coalescer: WriteCoalescer
  log: FastifyBaseLogger
  /** Receives the number of players in a game's rooms on this node when it changes. */
  count(gameId: string, players: number): void
}

/** The rooms of all games that this node runs. A room exists while a player is in it. */
export class Rooms {
  readonly #parts: RoomsParts
  readonly #byGame = new Map<string, Map<string, HostedRoom>>()
  /** The last reported number of players of each game. */
  readonly #counted = new Map<string, number>()

  constructor(parts: RoomsParts) {
    this.#parts = parts
  }

  find(gameId: string, roomId: string): HostedRoom | undefined {
    return this.#byGame.get(gameId)?.get(roomId)
  }

  /**
   * Returns the room, and creates it when it does not exist.
   *
   * @param maxPlayers from the game's settings; the limit `roomPlayers` takes precedence
   */
  open(gameId: string, roomId: string, maxPlayers: number, store: RoomStore | null = null): HostedRoom {
    return this.find(gameId, roomId) ?? this.#make(gameId, roomId, maxPlayers, store)
  }

  /** Does the same as `open` from another node's stored data: a snapshot and the changes after it. */
  restore(gameId: string, roomId: string, maxPlayers: number, store: RoomStore, texts: string[]): HostedRoom {
    const hosted = this.open(gameId, roomId, maxPlayers, store)
    hosted.room.restore(snapshotFrom(texts))
    return hosted
  }

  /** Lists the occupied rooms of a game. */
  list(gameId: string): RoomInfo[] {
    return Array.from(this.#byGame.get(gameId)?.values() ?? [])
      .filter(({ room }) => room.size > 0)
      .map(({ room, rate }) => ({
        id: room.id,
        players: room.size,
        capacity: room.capacity,
        locked: room.locked,
        rate,
        people: room.players,
      }))
  }

  *[Symbol.iterator](): Iterator<HostedRoom> {
    for (const rooms of this.#byGame.values()) yield* rooms.values()
  }

  /** Ends memberships whose time to resume is over. It is called every second. @returns the rooms that became empty */
  sweep(): HostedRoom[] {
    const gone: HostedRoom[] = []
    const now = this.#parts.clock.now().getTime()
    for (const hosted of this) {
      hosted.room.sweep()
      hosted.measure()
      if (hosted.room.size === 0 && hosted.reservedUntil < now) gone.push(hosted)
    }
    for (const hosted of gone) this.#forget(hosted)
    this.#countPlayers()
    return gone
  }

  #countPlayers(): void {
    for (const gameId of this.#counted.keys()) if (!this.#byGame.has(gameId)) this.#note(gameId, 0)
    for (const [gameId, rooms] of this.#byGame) {
      let players = 0
      for (const { room } of rooms.values()) players += room.size
      this.#note(gameId, players)
    }
  }

  #note(gameId: string, players: number): void {
    if ((this.#counted.get(gameId) ?? 0) === players) return
    if (players === 0) this.#counted.delete(gameId)
    else this.#counted.set(gameId, players)
    this.#parts.count(gameId, players)
  }

  #make(gameId: string, roomId: string, maxPlayers: number, store: RoomStore | null): HostedRoom {
    const { clock, log, coalescer } = this.#parts
    const hosted = new HostedRoom(gameId, roomId, {
      ...{ clock, log, store },
      limits: this.#roomLimits(maxPlayers),
      newToken: () => randomText(16),
      wake: (room) => coalescer.schedule(room),
      onLost: (room) => this.#forget(room),
    })
    const rooms = this.#byGame.get(gameId) ?? new Map<string, HostedRoom>()
    this.#byGame.set(gameId, rooms.set(roomId, hosted))
    return hosted
  }

  #forget(hosted: HostedRoom): void {
    const rooms = this.#byGame.get(hosted.gameId)
    if (rooms?.get(hosted.room.id) === hosted) rooms.delete(hosted.room.id)
    if (rooms?.size === 0) this.#byGame.delete(hosted.gameId)
  }

  #roomLimits(maxPlayers: number): RoomLimits {
    const { limits } = this.#parts
    return {
      players: Math.min(maxPlayers, limits.roomPlayers),
      messagesPerSecond: limits.roomMessagesPerSecond,
      messageBurst: limits.roomMessageBurst,
      stateBytes: limits.roomStateBytes,
      presenceBytes: limits.roomPresenceBytes,
      resumeSeconds: limits.roomResumeSeconds,
      replayFrames: limits.roomReplayFrames,
      replayBytes: REPLAY_BYTES,
    }
  }
}
