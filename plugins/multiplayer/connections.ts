import type { WebSocket } from 'ws'
import type { Clock } from '../../core/clock.ts'
import type { Admission } from './admission.ts'
import type { Frame } from './room/frames.ts'
import type { Link, Member } from './room/member.ts'
import { CLOSE, type Room } from './room/room.ts'

/** A client's own, orderly end: closed, left the page, or `close()` without a code. Anything else may come back. */
const GOODBYES = new Set([1000, 1001, 1005])

/** One room socket, from its place in the room to the wire. */
class Connection implements Link {
  readonly sub: string
  /** When the session ends that opened it, in ms since 1970, and the epoch it is of; null for guests. */
  readonly endsAt: number | null
  readonly epoch: number | null
  /** Whether the client has answered since the last ping. */
  alive = true
  readonly #socket: WebSocket
  readonly #maxUnsent: number
  #room: Room | null = null
  #member: Member | null = null
  #closed = false

  constructor(socket: WebSocket, { account, session }: Pick<Admission, 'account' | 'session'>, maxUnsent: number) {
    this.#socket = socket
    this.sub = account.sub
    this.endsAt = session?.expiresAt.getTime() ?? null
    this.epoch = session?.epoch ?? null
    this.#maxUnsent = maxUnsent
  }

  enter(room: Room, member: Member): void {
    this.#room = room
    this.#member = member
    const socket = this.#socket
    socket.on('message', (data, isBinary) => {
      this.alive = true
      if (this.#closed) return
      // `nodebuffer` is the default: one Buffer a message.
      if (isBinary) room.receiveBinary(member, data as Buffer)
      else room.receive(member, (data as Buffer).toString())
    })
    socket.on('pong', () => {
      this.alive = true
    })
    // Answered by ws itself; counted, so that a flood of pings ends as a flood of messages does.
    socket.on('ping', () => room.spend(member))
    // A frame too large, malformed text and the like: ws closes with the right code, and nobody comes back from that.
    socket.on('error', () => room.leave(member, this, 'closed'))
    socket.on('close', (code) => {
      this.#closed = true
      if (GOODBYES.has(code)) room.leave(member, this, 'left')
      else room.drop(member, this)
    })
  }

  send(frame: Frame): void {
    if (this.#closed) return
    this.#socket.send(frame.data, { binary: frame.binary })
    if (this.#socket.bufferedAmount <= this.#maxUnsent) return
    this.close(CLOSE.slow, 'too slow')
    // Later: the room is in the middle of telling everyone something.
    setImmediate(() => {
      if (this.#room && this.#member) this.#room.drop(this.#member, this)
    })
  }

  close(code: number, reason: string): void {
    if (this.#closed) return
    this.#closed = true
    this.#socket.close(code, reason)
  }

  /** Asks whether the client is still there; one that did not answer the last time is dropped. */
  probe(): void {
    if (this.alive) this.#socket.ping()
    else this.#socket.terminate()
    this.alive = false
  }

  /** The session has ended: out, and not back. */
  end(): void {
    this.close(CLOSE.policy, 'signed out')
    if (this.#room && this.#member) this.#room.leave(this.#member, this, 'closed')
  }
}

/** The room sockets of this node. */
export class Connections {
  readonly #clock: Clock
  readonly #maxUnsent: number
  readonly #open = new Set<Connection>()

  constructor(clock: Clock, maxUnsent: number) {
    this.#clock = clock
    this.#maxUnsent = maxUnsent
  }

  get size(): number {
    return this.#open.size
  }

  /** Puts a socket into its room; `enter` gives it the place. */
  add(socket: WebSocket, admission: Admission, room: Room, enter: (link: Link) => Member): void {
    const connection = new Connection(socket, admission, this.#maxUnsent)
    this.#open.add(connection)
    socket.on('close', () => this.#open.delete(connection))
    connection.enter(room, enter(connection))
  }

  /** Called every `roomPingSeconds`. */
  probe(): void {
    const now = this.#clock.now().getTime()
    for (const connection of this.#open) {
      if (connection.endsAt !== null && connection.endsAt <= now) connection.end()
      else connection.probe()
    }
  }

  /** Whether an account has a socket here. */
  has(sub: string): boolean {
    for (const connection of this.#open) if (connection.sub === sub) return true
    return false
  }

  /** Ends the sockets of an account whose session `holds` no more: signed out everywhere, or disabled. */
  endUnless(sub: string, holds: (epoch: number | null) => boolean): void {
    for (const connection of this.#open) if (connection.sub === sub && !holds(connection.epoch)) connection.end()
  }
}
