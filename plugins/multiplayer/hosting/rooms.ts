import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../../../core/clock.ts'
import { randomText } from '../../../core/ids.ts'
import { CLOSE, type RoomLimits } from '../room/limits.ts'
import { snapshotFrom } from '../room/snapshot.ts'
import type { MultiplayerLimits } from '../schemas.ts'
import type { RoomScript, ScriptStatus } from '../scripts/interface.ts'
import type { ScriptRuntime } from '../scripts/script-runtime.ts'
import { HostedRoom, type RoomStore } from './hosted-room.ts'
import type { WriteCoalescer } from './write-coalescing.ts'

/** The maximum size of the frames that a room keeps for replay. Their number is limited too. */
const REPLAY_BYTES = 1024 * 1024

/** A room in the form that lists show. */
export interface RoomInfo {
  id: string
  /** The name of its preview; null for a room of the live game. Older nodes leave it out during a rolling update. */
  preview?: string | null
  players: number
  capacity: number
  locked: boolean
  /** The recent number of messages per second. */
  rate: number
  /** Whether lists for players show it. Older nodes leave it out during a rolling update. */
  listed?: boolean
  people: { name: string; imageUrl: string | null; away: boolean }[]
  /** What the room's script uses; null for a room without one. */
  script: ScriptStatus | null
}

interface RoomsParts {
  clock: Clock
  limits: MultiplayerLimits
  coalescer: WriteCoalescer
  log: FastifyBaseLogger
  scripts: ScriptRuntime
  /** Receives the number of players in a game's rooms on this node when it changes. */
  count(gameId: string, players: number): void
}

/** How a room opens. */
export interface RoomOptions {
  maxPlayers: number
  /** How long the host may be away. */
  hostPatienceSeconds: number
  script?: RoomScript | null
  store?: RoomStore | null
}

/** Which rooms of a game a list has. */
export interface ListOptions {
  /** Whether it has those of previews too. Default: false */
  previews?: boolean
}

/** Rooms of a preview are apart from those of the live game: their `gameId` has the preview's name after a slash. */
export const scopeOf = (gameId: string, preview: string | null) => (preview === null ? gameId : `${gameId}/${preview}`)
/** Returns the game of a scope. */
export const gameOf = (scope: string) => scope.split('/', 1)[0] as string
const previewOf = (scope: string) => scope.split('/')[1] ?? null

/** The rooms of all games that this node runs. A room exists while a player is in it, or about to be. */
export class Rooms {
  readonly #parts: RoomsParts
  readonly #byGame = new Map<string, Map<string, HostedRoom>>()
  /** The last reported number of players of each game. */
  readonly #counted = new Map<string, number>()
  /** Called when a room has ended for all nodes: it is empty, or its script failed or is to start again. */
  onEnded: (room: HostedRoom) => void = () => {}

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
  open(gameId: string, roomId: string, options: RoomOptions): HostedRoom {
    const known = this.find(gameId, roomId)
    if (known) return known
    const hosted = this.#make(gameId, roomId, options)
    const { script } = options
    if (script) this.#startScript(hosted, script, null)
    return hosted
  }

  /** Does the same as `open` from another node's stored data: a snapshot and the changes after it. */
  restore(gameId: string, roomId: string, options: RoomOptions, texts: string[]): HostedRoom {
    const hosted = this.#make(gameId, roomId, options)
    const snapshot = snapshotFrom(texts)
    // Without a lease, two starts from the same record must not number their frames alike.
    const fence = options.store?.fence ?? Math.floor(this.#parts.clock.now().getTime() / 1000)
    hosted.room.restore(snapshot, fence)
    const data = snapshot.script?.data
    if (options.script) this.#startScript(hosted, options.script, data === undefined ? null : JSON.stringify(data))
    return hosted
  }

  /** Ends the rooms of a game, and those of its previews. Their players enter new ones, with the script of the build. */
  restart(gameId: string): void {
    for (const hosted of [...this]) {
      if (gameOf(hosted.gameId) === gameId) this.#endForAll(hosted, CLOSE.restart, 'restarted')
    }
  }

  /** Ends a room whose players have closed their pages, for a player who begins a new one under its name. */
  replace(hosted: HostedRoom): void {
    this.#endForAll(hosted, CLOSE.restart, 'over')
  }

  /** The rooms of this node in which an account is, also while its socket is away. */
  withAccount(sub: string): HostedRoom[] {
    return [...this].filter(({ room }) => room.members.has(sub))
  }

  /** Lists the occupied rooms of a game. */
  list(gameId: string, { previews = false }: ListOptions = {}): RoomInfo[] {
    const scopes = previews ? [...this.#byGame.keys()].filter((scope) => gameOf(scope) === gameId) : [gameId]
    return scopes
      .flatMap((scope) => [...(this.#byGame.get(scope)?.values() ?? [])])
      .filter(({ room }) => room.size > 0)
      .map(({ gameId: scope, room, rate, script }) => ({
        id: room.id,
        preview: previewOf(scope),
        players: room.size,
        capacity: room.capacity,
        locked: room.locked,
        rate,
        listed: script?.listed ?? true,
        people: room.members.people,
        script: script?.status ?? null,
      }))
  }

  *[Symbol.iterator](): Iterator<HostedRoom> {
    for (const rooms of this.#byGame.values()) yield* rooms.values()
  }

  /** Ends memberships whose time to resume is over, and rooms that nobody has entered. It is called every second. */
  sweep(): void {
    for (const hosted of [...this]) {
      hosted.room.sweep()
      hosted.measure()
      this.#endIfEmpty(hosted)
    }
    this.#countPlayers()
  }

  /** An empty room ends at once, so that the next players under its name don't find its state, nor its lock. */
  #endIfEmpty(hosted: HostedRoom): void {
    if (this.find(hosted.gameId, hosted.room.id) !== hosted || !hosted.isEmpty || !hosted.retire()) return
    this.#forget(hosted)
    this.onEnded(hosted)
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
    if (gameOf(gameId) === gameId) this.#parts.count(gameId, players)
  }

  #make(gameId: string, roomId: string, { store = null, ...options }: RoomOptions): HostedRoom {
    const { clock, log, coalescer } = this.#parts
    const hosted = new HostedRoom(gameId, roomId, {
      clock,
      log,
      store,
      limits: this.#roomLimits(options),
      newToken: () => randomText(16),
      wake: (room) => coalescer.schedule(room),
      onEmpty: (room) => this.#endIfEmpty(room),
      onLost: (room) => this.#forget(room),
    })
    const rooms = this.#byGame.get(gameId) ?? new Map<string, HostedRoom>()
    this.#byGame.set(gameId, rooms.set(roomId, hosted))
    return hosted
  }

  #startScript(hosted: HostedRoom, script: RoomScript, data: string | null): void {
    const gameId = gameOf(hosted.gameId)
    const running = this.#parts.scripts.start(hosted.room, script, data, {
      gameId,
      isPreview: gameId !== hosted.gameId,
      onFailed: () => this.#endForAll(hosted, CLOSE.failed, 'room_failed'),
      onSnapshot: (snapshot) => hosted.keepScript(snapshot),
    })
    hosted.attachScript(running, data)
  }

  #endForAll(hosted: HostedRoom, code: number, reason: string): void {
    hosted.endForAll(code, reason)
    this.onEnded(hosted)
  }

  #forget(hosted: HostedRoom): void {
    const rooms = this.#byGame.get(hosted.gameId)
    if (rooms?.get(hosted.room.id) === hosted) rooms.delete(hosted.room.id)
    if (rooms?.size === 0) this.#byGame.delete(hosted.gameId)
  }

  #roomLimits({ maxPlayers, hostPatienceSeconds }: RoomOptions): RoomLimits {
    const { limits } = this.#parts
    return {
      players: Math.min(maxPlayers, limits.roomPlayers),
      messagesPerSecond: limits.roomMessagesPerSecond,
      messageBurst: limits.roomMessageBurst,
      frameBytes: limits.roomFrameBytes,
      stateBytes: limits.roomStateBytes,
      presenceBytes: limits.roomPresenceBytes,
      resumeSeconds: limits.roomResumeSeconds,
      hostPatienceSeconds,
      replayFrames: limits.roomReplayFrames,
      replayBytes: REPLAY_BYTES,
    }
  }
}
