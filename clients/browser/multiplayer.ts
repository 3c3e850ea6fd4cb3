/**
 * Rooms for browser games, without installing anything:
 *
 *   import { join } from '/__service/multiplayer.js'
 *   const room = await join('lobby')
 *   room.on('message', (type, data, from) => …)
 *   room.send('move', { x, y })
 *   room.state.set('score', 3)
 *
 * The room reconnects automatically, and replays missed messages where the server still has them. It implements protocol 1,
 * and runs in pages and in workers.
 */

import { frameSession } from './frame/hook.ts'
import { ServerClock } from './multiplayer/clock.ts'
import { endingOf, endingOfRefusal } from './multiplayer/close-codes.ts'
import { Heartbeat } from './multiplayer/heartbeat.ts'
import { type Emission, Roster, stateEmission } from './multiplayer/roster.ts'
import { type FrameOptions, SendQueue } from './multiplayer/send-queue.ts'
import { sharedState } from './multiplayer/shared-state.ts'
import {
  type JoinOptions,
  type Listener,
  type Player,
  type RoomError,
  type RoomEvents,
  refusalReason,
  type SharedState,
} from './multiplayer/types.ts'

export {
  type JoinOptions,
  type Listener,
  type Player,
  RoomError,
  type RoomEvents,
  type SharedState,
} from './multiplayer/types.ts'

/** Enters a room, which is created when it is empty. @throws RoomError when the player can't enter it */
export async function join(roomId: string, options: JoinOptions = {}): Promise<Room> {
  const room = new Room(roomId, options)
  await room[OPEN]()
  return room
}

const OPEN = Symbol('open')
/**
 * Closes a socket that is lost, so that the server keeps the player's place. 4100 to 4199 are for this: 1000, 1001 and no
 * code mean that the player leaves.
 */
const SILENT = 4100
const WELCOME = { first: { ms: 30_000, code: 1000 }, again: { ms: 10_000, code: SILENT } } // New rooms open slowly.
/** The sender of a room script's bytes. */
const SCRIPT_INDEX = 0xff_ff
const CHECK_MS = 2500
const LONGEST_WAIT_MS = 8000

export class Room {
  readonly id: string
  /** This player. */
  me!: Player
  capacity = 0
  readonly state: SharedState
  readonly #origin: string
  readonly #giveUpAfterMs: number
  readonly #listeners = new Map<string, Set<(...values: never[]) => void>>()
  readonly #values = new Map<string, unknown>()
  readonly #roster = new Roster()
  #version = 0
  #socket: WebSocket | null = null
  #resume: string | null = null
  /** The number of the last frame in the room's sequence. */
  #sequence = 0
  readonly #outgoing = new SendQueue()
  readonly #clock = new ServerClock()
  /** The last `presence` data, which is sent again when the room starts over. */
  #presence: unknown
  #ended = false
  #heartbeat = new Heartbeat()
  readonly #stop = new AbortController()
  #timer: ReturnType<typeof setInterval> | undefined
  #wake: (() => void) | null = null

  constructor(id: string, { origin = globalThis.location.origin, giveUpAfterMs = 120_000 }: JoinOptions) {
    this.id = id
    this.#origin = origin
    this.#giveUpAfterMs = giveUpAfterMs
    const version = () => this.#version
    this.state = sharedState({
      values: this.#values,
      get version() {
        return version()
      },
      write: (set, del, options) =>
        this.#push(JSON.stringify({ t: 'state', set, del, if: options?.if }), {
          isBound: options?.if !== undefined,
          isState: true,
        }),
    })
  }

  /** All players in the room, in order of arrival. */
  get players(): Player[] {
    return this.#roster.players
  }

  get host(): Player | undefined {
    return this.#roster.host
  }

  get isHost(): boolean {
    return this.#roster.hostId === this.me.id
  }

  /** Whether the socket is open now. */
  get connected(): boolean {
    return this.#socket?.readyState === 1
  }

  /** Returns the server's time in ms since 1970. All players get the same time, within the latency. */
  now(): number {
    return this.#clock.now()
  }

  /** The round trip of the last ping in ms. */
  get latency(): number | null {
    return this.#clock.latency
  }

  /** Sends a message. @param to all other players by default; `'all'`, `'host'`, or ids or players */
  send(type: string, data?: unknown, to?: 'all' | 'host' | (string | Player)[]): void {
    const ids = Array.isArray(to) ? to.map((one) => (typeof one === 'string' ? one : one.id)) : null
    this.#say({ t: 'send', type, data, to: ids ?? to }, ids !== null)
  }

  /** Sends bytes to all other players, for data that changes many times a second. */
  sendBinary(bytes: ArrayBuffer | ArrayBufferView): void {
    // A copy, since the game may write into the buffer before the frame is sent, or sent again.
    const view = ArrayBuffer.isView(bytes)
      ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      : new Uint8Array(bytes)
    this.#push(view.slice().buffer)
  }

  /** Sets this player's `data`, which the other players see. */
  presence(data: unknown): void {
    this.#presence = data
    this.#say({ t: 'presence', data })
  }

  /** Removes a player from the room. Only the host may call this. */
  kick(player: string | Player): void {
    this.#say({ t: 'kick', id: typeof player === 'string' ? player : player.id }, true)
  }

  /** Locks the room against new players. Only the host may call this. */
  lock(locked = true): void {
    this.#say({ t: 'lock', locked })
  }

  /** Makes another player the host. Only the host may call this. */
  makeHost(player: string | Player): void {
    this.#say({ t: 'host', id: typeof player === 'string' ? player : player.id }, true)
  }

  /** Adds a listener. The returned function removes it. */
  on<Name extends keyof RoomEvents>(name: Name, listener: Listener<Name>): () => void {
    const listeners = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, listeners.add(listener as never))
    return () => listeners.delete(listener as never)
  }

  /** Leaves the room permanently. */
  leave(): void {
    this.#end('left')
  }

  /** Connects for the first time. */
  async [OPEN](): Promise<void> {
    await this.#connect()
    this.#timer = setInterval(() => this.#watch(), CHECK_MS)
    const until = { signal: this.#stop.signal }
    const changed = () => {
      this.#wake?.()
      if (this.connected) this.#ping()
    }
    globalThis.addEventListener?.('online', changed, until)
    globalThis.document?.addEventListener('visibilitychange', changed, until)
  }

  /** Opens a socket. Resolves with the room's welcome. */
  async #connect(): Promise<void> {
    const url = new URL(`/mp/rooms/${encodeURIComponent(this.id)}`, this.#origin)
    // In a frame the page may still be determining the player, whose token the socket needs.
    await frameSession()?.ready
    url.search = `?acks=1${this.#resume ? `&resume=${this.#resume}&received=${this.#sequence}` : ''}`
    const socket = new WebSocket(url.href.replace(/^http/, 'ws'))
    socket.binaryType = 'arraybuffer'
    const welcomed = await new Promise<boolean>((resolve) => {
      const { ms, code } = this.#resume ? WELCOME.again : WELCOME.first
      const timeout = setTimeout(() => socket.close(code), ms)
      socket.onclose = () => {
        clearTimeout(timeout)
        resolve(false)
      }
      socket.onmessage = ({ data }) => {
        clearTimeout(timeout)
        if (this.#ended) return socket.close(1000)
        this.#socket = socket
        this.#heartbeat = new Heartbeat()
        socket.onmessage = (event) => this.#receive(event.data)
        socket.onclose = (event) => this.#lost(socket, event)
        this.#receive(data)
        resolve(true)
      }
    })
    if (!welcomed && !this.#ended) throw await refusalReason(url)
  }

  /** Handles a lost socket: reconnects, unless the close code is final. */
  async #lost(socket: WebSocket, { code, reason }: { code: number; reason: string }): Promise<void> {
    if (this.#ended || socket !== this.#socket) return
    this.#socket = null
    // What a silent network held back would otherwise arrive beside its replay.
    socket.onmessage = null
    this.#outgoing.disconnect()
    const ending = endingOf(code, reason)
    if (ending) {
      this.#end(ending)
      return
    }
    this.#emit('reconnecting')
    // This counts waits instead of clock time: a tab that slept for an hour has not tried for an hour.
    for (let waited = 0, attempt = 0; !this.#ended; attempt++) {
      const wait = Math.min(LONGEST_WAIT_MS, 250 * 2 ** attempt) * (0.5 + Math.random() / 2)
      await new Promise<void>((resolve) => {
        const timeout = setTimeout(resolve, wait)
        this.#wake = () => {
          clearTimeout(timeout)
          resolve()
        }
      })
      this.#wake = null
      if (this.#ended) return
      try {
        return await this.#connect()
      } catch (error) {
        const { status, code } = error as RoomError
        if (status >= 400 && status < 500 && status !== 429) return this.#end(endingOfRefusal(code))
      }
      waited += wait
      if (waited > this.#giveUpAfterMs) return this.#end('lost')
    }
  }

  /** Pings the server periodically, because a lost network raises no event. */
  #watch(): void {
    const socket = this.#socket
    if (socket?.readyState !== 1) return
    const next = this.#heartbeat.check(performance.now())
    if (next === 'ping') this.#ping()
    if (next !== 'lost') return
    // This does not wait for the closing handshake, which would not arrive either.
    socket.onclose = null
    socket.close(SILENT)
    void this.#lost(socket, { code: 1006, reason: '' })
  }

  #ping(): void {
    const now = performance.now()
    this.#heartbeat.pinged(now)
    this.#outgoing.pushFirst(JSON.stringify({ t: 'ping', id: Math.round(now) }), { isPing: true })
  }

  /** @param isBound whether the message names players or a version */
  #say(message: object, isBound = false): void {
    this.#push(JSON.stringify(message), { isBound })
  }

  #push(frame: string | ArrayBuffer, options?: FrameOptions): void {
    if (this.#ended) return
    const refusal = this.#outgoing.push(frame, options)
    if (!refusal) return
    this.#emit('error', refusal)
    if (!this.#listeners.get('error')?.size) console.warn(`${refusal.message} (${refusal.code})`)
  }

  #receive(data: string | ArrayBuffer): void {
    this.#heartbeat.heard()
    if (typeof data !== 'string') {
      this.#sequence++
      const index = new DataView(data).getUint16(0, true)
      this.#emit('binary', new Uint8Array(data, 2), index === SCRIPT_INDEX ? null : this.#roster.byIndex(index))
      return
    }
    const message = JSON.parse(data)
    // Replies to this player alone are not part of the room's sequence.
    if (!['welcome', 'pong', 'error', 'ack'].includes(message.t)) this.#sequence++
    this.#handlers[message.t]?.(message)
  }

  // biome-ignore lint/suspicious/noExplicitAny: frames of protocol 1, checked by the server that makes them
  readonly #handlers: Record<string, (message: any) => void> = {
    welcome: (message) => this.#welcome(message),
    join: ({ player }) => this.#emit('join', this.#roster.add(player)),
    leave: ({ id, reason }) => {
      const player = this.#player(id)
      this.#roster.remove(id)
      if (id === this.me.id) this.#end(reason)
      else this.#emit('leave', player, reason)
    },
    away: ({ id }) => this.#setAway(id, true),
    back: ({ id }) => this.#setAway(id, false),
    host: ({ id }) => {
      this.#roster.hostId = id
      this.#emit('host', this.host)
    },
    msg: ({ type, data, from }) => this.#emit('message', type, data, from === null ? null : this.#player(from)),
    state: ({ set, del, from, version }) => {
      for (const key of del) this.#values.delete(key)
      for (const [key, value] of Object.entries(set)) this.#values.set(key, value)
      this.#version = version
      this.#emit('state', set, del, this.#roster.get(from))
    },
    presence: ({ id, data }) => this.#emit('presence', Object.assign(this.#player(id), { data }), data),
    profile: ({ id, name, imageUrl }) => this.#emit('profile', Object.assign(this.#player(id), { name, imageUrl })),
    pong: ({ id, now }) => this.#clock.addPing(id, now),
    ack: ({ taken }) => this.#outgoing.acknowledge(taken),
    error: ({ code, message, version }) => this.#emit('error', { code, message, version }),
  }

  // biome-ignore lint/suspicious/noExplicitAny: a frame of protocol 1, checked by the server that makes it
  #welcome(message: any): void {
    const again = this.#resume !== null
    const isSamePlace = message.resume === this.#resume
    this.#resume = message.resume
    this.#sequence = message.sequence
    this.capacity = message.room.capacity
    this.#clock.set(message.now)
    // With `replay`, the missed frames follow and apply to the known state. Without it, the state starts over here.
    const missed = message.replay === null
    const differences = missed ? this.#startOver(message) : []
    const dropped = this.#outgoing.connect(this.#socket as WebSocket, message, isSamePlace)
    this.#ping()
    if (again && !isSamePlace && this.#presence !== undefined) {
      this.#outgoing.pushFirst(JSON.stringify({ t: 'presence', data: this.#presence }))
    }
    this.#outgoing.flush()
    if (!again) return
    this.#emit('reconnected', { missed, dropped })
    for (const [name, ...values] of differences) this.#emit(name, ...(values as RoomEvents[typeof name]))
  }

  /** Takes over the state of a welcome. @returns the events that tell the differences */
  // biome-ignore lint/suspicious/noExplicitAny: a frame of protocol 1, checked by the server that makes it
  #startOver({ players, room, you, state, version }: any): Emission[] {
    const changes = this.#roster.replace(players, room.host, { before: this.me?.id ?? '', you })
    this.me = this.#player(you)
    const written = stateEmission(this.#values, state)
    this.#values.clear()
    for (const [key, value] of Object.entries(state)) this.#values.set(key, value)
    this.#version = version
    return [...changes, ...written]
  }

  #setAway(id: string, away: boolean): void {
    const player = this.#player(id)
    player.away = away
    this.#emit(away ? 'away' : 'back', player)
  }

  /** Finds a player. A player who sent a message may have left already. */
  #player(id: string): Player {
    const gone = { id, index: -1, sub: '', name: '', imageUrl: null, data: null, joinedAt: '', away: true }
    return this.#roster.get(id) ?? gone
  }

  #end(reason: string): void {
    if (this.#ended) return
    this.#ended = true
    clearInterval(this.#timer)
    this.#stop.abort()
    this.#wake?.()
    this.#socket?.close(1000)
    this.#socket = null
    this.#emit('left', reason)
  }

  #emit<Name extends keyof RoomEvents>(name: Name, ...values: RoomEvents[Name]): void {
    for (const listener of this.#listeners.get(name) ?? []) {
      try {
        ;(listener as Listener<Name>)(...values)
      } catch (error) {
        // An error in a game's listener must not stop the room from handling later messages.
        globalThis.reportError(error)
      }
    }
  }
}
