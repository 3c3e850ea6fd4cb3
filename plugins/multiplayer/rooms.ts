import type { Clock } from '../../core/clock.ts'
import { randomText } from '../../core/ids.ts'
import type { PageQuery } from '../../core/pagination.ts'
import { Room, type RoomLimits } from './room/room.ts'
import type { MultiplayerLimits, RoomSummary } from './schemas.ts'

/** How much is kept to be repeated to one client, beside the number of frames. */
const REPLAY_BYTES = 1024 * 1024

/** The rooms of all games that live on this node. A room is there while somebody is in it. */
export class Rooms {
  readonly #clock: Clock
  readonly #limits: MultiplayerLimits
  readonly #byGame = new Map<string, Map<string, { room: Room; capacity: number }>>()

  constructor(clock: Clock, limits: MultiplayerLimits) {
    this.#clock = clock
    this.#limits = limits
  }

  find(gameId: string, roomId: string): Room | undefined {
    return this.#byGame.get(gameId)?.get(roomId)?.room
  }

  /** The room, made when it is not there yet. @param maxPlayers what the game's settings say */
  open(gameId: string, roomId: string, maxPlayers: number): Room {
    const rooms = this.#byGame.get(gameId) ?? new Map<string, { room: Room; capacity: number }>()
    this.#byGame.set(gameId, rooms)
    const known = rooms.get(roomId)
    if (known) return known.room
    const limits = this.#roomLimits(maxPlayers)
    const room = new Room(roomId, { clock: this.#clock, limits, newToken: () => randomText(16) })
    rooms.set(roomId, { room, capacity: limits.players })
    return room
  }

  /** The rooms of a game that anyone may enter, by name. */
  list(gameId: string, { limit, cursor }: PageQuery): { rooms: RoomSummary[]; nextCursor: string | null } {
    const after = [...(this.#byGame.get(gameId) ?? [])]
      .filter(([id, { room }]) => room.size > 0 && (cursor === undefined || id > cursor))
      .sort(([a], [b]) => (a < b ? -1 : 1))
    const page = after.slice(0, limit)
    return {
      rooms: page.map(([id, { room, capacity }]) => ({ id, players: room.size, capacity, locked: room.locked })),
      nextCursor: after.length > limit ? (page.at(-1)?.[0] ?? null) : null,
    }
  }

  /** Ends places that were kept long enough, and rooms that are empty. Called every second. */
  sweep(): void {
    for (const [gameId, rooms] of this.#byGame) {
      for (const [id, { room }] of rooms) {
        room.sweep()
        if (room.size === 0) rooms.delete(id)
      }
      if (rooms.size === 0) this.#byGame.delete(gameId)
    }
  }

  #roomLimits(maxPlayers: number): RoomLimits {
    const limits = this.#limits
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
