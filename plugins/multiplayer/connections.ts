import type { Duplex } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { Gauge, type Registry } from 'prom-client'
import type { WebSocket } from 'ws'
import type { Clock } from '../../core/clock.ts'
import type { GameSession } from '../game-edge/index.ts'
import type { FoundRoom } from './directory.ts'
import type { DisconnectReason, Membership } from './membership.ts'
import { CLOSE } from './room/limits.ts'
import type { Account, Link } from './room/member.ts'

/** The result of admission: the player and the room. It is decided before the upgrade. */
export interface Admission {
  gameId: string
  account: Account
  /** The key for limits: the account, or a guest's address. */
  owner: string
  /** Null for guests. */
  session: GameSession | null
  room: FoundRoom
  /** The value of `AdmissionRevalidation.changes` when admission began. */
  changesSeen: number
}

/**
 * Close codes of an orderly close: closed, or `close()` without a code. After any other code the client may resume. A
 * client that gives up a dead socket uses 4100 to 4199, so that this never looks like leaving.
 */
const ORDERLY_CLOSES = new Set([1000, 1005])
/** Sent by browsers for a page that is closed or loaded again. A guest who comes back is nobody whom the room knows. */
const GOING_AWAY = 1001

/** Why the platform ends a connection. Clients tell the game. */
export type EndReason = 'signed_out' | 'suspended' | 'gone' | 'closed'

/** The space for a reason in a close frame (RFC 6455, section 5.5). */
const REASON_BYTES = 123

/** One room socket. It writes what the room sends, and passes the client's messages to the membership. */
export class Connection implements Link {
  /** The key for limits: an account, or a guest's address. */
  readonly owner: string
  readonly sub: string
  readonly gameId: string
  /** The player's id; null for guests. */
  readonly account: string | null
  /** The OAuth application by which the player signed in; null for guests. */
  readonly clientId: string | null
  /** The end of the session that opened it, in ms since 1970, and the session's epoch; null for guests. */
  readonly endsAt: number | null
  readonly epoch: number | null
  /** The consent on which the session depends; null for guests. */
  readonly consentId: string | null
  /** The portal session of a framed sign-in; null for others. */
  readonly sessionId: string | null
  /** The key that sealed the session; null for guests. */
  readonly keyId: string | null
  /** Whether the client has answered since the last ping. */
  alive = true
  readonly #socket: WebSocket
  /** The raw stream below the socket. */
  readonly #stream: Duplex
  readonly #maxUnsent: number
  #membership: Membership | null = null
  #closed = false

  constructor(socket: WebSocket, stream: Duplex, admission: Admission, maxUnsent: number) {
    this.#socket = socket
    this.#stream = stream
    this.owner = admission.owner
    this.sub = admission.account.sub
    this.gameId = admission.gameId
    this.account = admission.session?.player.id ?? null
    this.clientId = admission.session?.clientId ?? null
    this.endsAt = admission.session?.expiresAt.getTime() ?? null
    this.epoch = admission.session?.epoch ?? null
    this.consentId = admission.session?.consentId ?? null
    this.sessionId = admission.session?.sessionId ?? null
    this.keyId = admission.session?.keyId ?? null
    this.#maxUnsent = maxUnsent
  }

  attach(membership: Membership): void {
    this.#membership = membership
    const socket = this.#socket
    socket.on('message', (data, isBinary) => {
      this.alive = true
      if (this.#closed) return
      // `nodebuffer` is the default: one Buffer for each message.
      if (isBinary) membership.bytes(data as Buffer)
      else membership.text((data as Buffer).toString())
    })
    socket.on('pong', () => {
      this.alive = true
    })
    // ws answers pings itself.
    socket.on('ping', () => membership.ping())
    // After a protocol error, such as a frame that is too large or malformed text, ws closes with the right code and
    // the client does not reconnect. Network errors are not protocol errors.
    socket.on('error', (error: NodeJS.ErrnoException) => this.#leave(error.code?.startsWith('WS_') ? 'closed' : 'lost'))
    socket.on('close', (code) => {
      this.#closed = true
      if (code === GOING_AWAY) this.#leave(this.account === null ? 'left' : 'unloaded')
      else this.#leave(ORDERLY_CLOSES.has(code) ? 'left' : 'lost')
    })
  }

  /**
   * Writes around ws, which would make a header and two writes for each recipient. Compression is off, so ws writes
   * each of its own frames at once and completely, and these frames fit between them.
   */
  write(frames: Buffer): void {
    if (this.#closed || !this.#stream.writable) return
    // What is unsent of earlier writes counts. This one alone may be longer: a whole replay, after a large state.
    if (this.#stream.writableLength <= this.#maxUnsent) {
      this.#stream.write(frames)
      return
    }
    this.close(CLOSE.slow, 'too slow')
    // The call is deferred, because the room is currently delivering to all players.
    setImmediate(() => this.#leave('lost'))
  }

  /** @param reason any text, for example a script's. What does not fit into the frame is cut off. */
  close(code: number, reason: string): void {
    if (this.#closed) return
    this.#closed = true
    this.#socket.close(code, fittingReason(reason))
  }

  /** Pings the client. A client that did not answer the last ping is dropped, unless answers may wait unread. */
  probe({ isLate = false } = {}): void {
    if (this.alive || isLate) this.#socket.ping()
    else this.#socket.terminate()
    this.alive = false
  }

  /** Ends the connection because its session has ended. The player leaves and can't resume. */
  end(reason: EndReason = 'signed_out'): void {
    this.close(reason === 'suspended' ? CLOSE.suspended : CLOSE.policy, reason)
    this.#leave('closed')
  }

  #leave(ending: DisconnectReason): void {
    this.#membership?.end(ending)
    this.#membership = null
  }
}

/** The decoder leaves out a character of which only a part fits. */
const fittingReason = (reason: string) => new StringDecoder('utf8').write(Buffer.from(reason).subarray(0, REASON_BYTES))

const NONE: ReadonlySet<Connection> = new Set()

/** The room sockets of this node. */
export class Connections {
  readonly #clock: Clock
  readonly #maxUnsent: number
  readonly #open = new Set<Connection>()
  readonly #byGame = new Map<string, Set<Connection>>()
  /** The number of sockets of each owner. */
  readonly #byOwner = new Map<string, number>()
  #probedAt = 0

  constructor(clock: Clock, maxUnsent: number) {
    this.#clock = clock
    this.#maxUnsent = maxUnsent
  }

  get size(): number {
    return this.#open.size
  }

  /** Returns the number of sockets of an account, or of a guest's address, on this node. */
  countOf(owner: string): number {
    return this.#byOwner.get(owner) ?? 0
  }

  /** Adds a socket to its room. */
  add(socket: WebSocket, stream: Duplex, admission: Admission): void {
    const connection = new Connection(socket, stream, admission, this.#maxUnsent)
    const membership = admission.room.join(connection)
    // The room may have become full since admission.
    if (!membership) {
      socket.close(CLOSE.slow, 'full')
      return
    }
    const { owner, gameId } = connection
    this.#open.add(connection)
    const inGame = this.#byGame.get(gameId) ?? new Set()
    this.#byGame.set(gameId, inGame.add(connection))
    this.#byOwner.set(owner, this.countOf(owner) + 1)
    socket.on('close', () => {
      this.#open.delete(connection)
      inGame.delete(connection)
      if (inGame.size === 0 && this.#byGame.get(gameId) === inGame) this.#byGame.delete(gameId)
      const left = this.countOf(owner) - 1
      if (left > 0) this.#byOwner.set(owner, left)
      else this.#byOwner.delete(owner)
    })
    connection.attach(membership)
  }

  /**
   * Pings all clients. It is called every `roomPingSeconds`. After a sleep of this computer the timers run before the
   * answers are read, so a late call drops nobody.
   *
   * @param everyMs the usual time between two calls
   */
  probe(everyMs: number): void {
    const isLate = performance.now() - this.#probedAt > everyMs * 1.5
    this.#probedAt = performance.now()
    const now = this.#clock.now().getTime()
    for (const connection of this.#open) {
      if (connection.endsAt !== null && connection.endsAt <= now) connection.end()
      else connection.probe({ isLate })
    }
  }

  /** Whether an account has a socket on this node. */
  has(sub: string): boolean {
    for (const connection of this.#open) if (connection.sub === sub) return true
    return false
  }

  /** Returns the sockets in rooms of a game. */
  inGame(gameId: string): ReadonlySet<Connection> {
    return this.#byGame.get(gameId) ?? NONE
  }

  /** Returns the games with sockets of players who signed in by an application. */
  gamesOf(clientId: string): Set<string> {
    const games = new Set<string>()
    for (const connection of this.#open) if (connection.clientId === clientId) games.add(connection.gameId)
    return games
  }

  /** Ends the sockets whose sessions depend on a revoked consent. */
  endOf(consentId: string): void {
    for (const connection of this.#open) if (connection.consentId === consentId) connection.end()
  }

  /** Ends the sockets of framed games whose player has signed out of the portal. */
  endOfSession(sessionId: string): void {
    for (const connection of this.#open) if (connection.sessionId === sessionId) connection.end()
  }

  /** Ends the sockets whose sessions were sealed by revoked keys. @param isEnded called once for each key */
  async endOfKeys(isEnded: (keyId: string) => Promise<boolean>): Promise<void> {
    const keys = new Set<string | null>()
    for (const { keyId } of this.#open) keys.add(keyId)
    for (const key of keys) {
      if (key === null || !(await isEnded(key))) continue
      for (const connection of this.#open) if (connection.keyId === key) connection.end()
    }
  }

  /** Returns the portal sessions on which sockets of an account depend. */
  sessionsOf(sub: string): Set<string> {
    const sessions = new Set<string>()
    for (const { sub: own, sessionId } of this.#open) if (own === sub && sessionId !== null) sessions.add(sessionId)
    return sessions
  }

  /** Ends the sockets of an account whose session is no longer valid by `holds`: signed out everywhere, or disabled. */
  endUnless(sub: string, holds: (epoch: number | null) => boolean): void {
    for (const connection of this.#open) if (connection.sub === sub && !holds(connection.epoch)) connection.end()
  }
}

/** Measures how many room sockets are open. */
export function measureSockets(metrics: Registry, connections: Connections): void {
  new Gauge({
    name: 'gameyard_room_sockets',
    help: 'Room sockets open now.',
    registers: [metrics],
    collect() {
      this.set(connections.size)
    },
  })
}
