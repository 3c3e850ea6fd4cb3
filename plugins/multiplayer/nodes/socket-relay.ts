import type { FastifyBaseLogger } from 'fastify'
import type { Bus } from '../../../core/events.ts'
import { joinRoom } from '../admission/join.ts'
import type { Rooms } from '../hosting/rooms.ts'
import { type DisconnectReason, LocalMembership, type Membership } from '../membership.ts'
import { CLOSE } from '../room/limits.ts'
import type { Link } from '../room/member.ts'
import type { JoinMessage, NodeMessage } from './messages.ts'
import { type PeerListener, Peers } from './peers.ts'

type Received = Parameters<PeerListener['receive']>[1]

/** The link to a client whose socket is on another node. */
class RelayedLink implements Link {
  readonly #nodes: Peers
  readonly #node: string
  readonly #conn: string

  constructor(nodes: Peers, node: string, conn: string) {
    this.#nodes = nodes
    this.#node = node
    this.#conn = conn
  }

  write(frames: Buffer): void {
    this.#nodes.write(this.#node, this.#conn, frames)
  }

  close(code: number, reason: string): void {
    this.#nodes.send(this.#node, { t: 'close', conn: this.#conn, code, reason })
  }
}

/** The membership of a socket of this node in a room of another node. */
class RemoteMembership implements Membership {
  readonly node: string
  readonly link: Link
  readonly #nodes: Peers
  readonly #conn: string
  readonly #onEnd: () => void

  constructor(nodes: Peers, node: string, conn: string, link: Link, onEnd: () => void) {
    this.#nodes = nodes
    this.node = node
    this.#conn = conn
    this.link = link
    this.#onEnd = onEnd
  }

  text(text: string): void {
    this.#nodes.send(this.node, { t: 'text', conn: this.#conn, text })
  }

  bytes(bytes: Buffer): void {
    this.#nodes.send(this.node, { t: 'bytes', conn: this.#conn, bytes: bytes.toString('base64') })
  }

  ping(): void {
    this.#nodes.send(this.node, { t: 'ping', conn: this.#conn })
  }

  end(ending: DisconnectReason): void {
    this.#onEnd()
    this.#nodes.send(this.node, { t: 'end', conn: this.#conn, ending })
  }
}

/** Relays between a socket on one node and a room on another. It implements both sides. */
export class SocketRelay implements PeerListener {
  readonly nodes: Peers
  readonly #rooms: Rooms
  /** Sockets of this node in rooms of other nodes. */
  readonly #outbound = new Map<string, RemoteMembership>()
  /** Sockets of other nodes in rooms of this node, by node and name. */
  readonly #inbound = new Map<string, Map<string, Membership>>()
  #conns = 0

  constructor(bus: Bus, rooms: Rooms, log: FastifyBaseLogger) {
    this.nodes = new Peers(bus, log, this)
    this.#rooms = rooms
  }

  /** Joins a socket of this node to a room of another node. */
  join(node: string, join: JoinMessage, link: Link, reservation?: string): Membership {
    const conn = (++this.#conns).toString(36)
    const membership = new RemoteMembership(this.nodes, node, conn, link, () => this.#outbound.delete(conn))
    this.#outbound.set(conn, membership)
    const { gameId, roomId, account, resume, acks } = join
    this.nodes.send(node, { t: 'enter', conn, gameId, roomId, account, resume, acks, reservation })
    return membership
  }

  receive(from: string, message: Received): void {
    switch (message.t) {
      case 'enter':
        this.#enter(from, message)
        break
      case 'write': {
        const frames = Buffer.from(message.frames, 'base64')
        for (const conn of message.to) this.#outboundOf(from, conn)?.link.write(frames)
        break
      }
      case 'close':
        this.#outboundOf(from, message.conn)?.link.close(message.code, message.reason)
        this.#outbound.delete(message.conn)
        break
      case 'mayEnter':
        void this.#answer(from, message)
        break
      case 'list':
        this.nodes.send(from, { t: 'rooms', ask: message.ask, rooms: this.#rooms.list(message.gameId, message) })
        break
      default:
        this.#receiveFromClient(from, message)
    }
  }

  async #answer(from: string, message: Extract<Received, { t: 'mayEnter' }>): Promise<void> {
    const known = this.#rooms.find(message.gameId, message.roomId)
    if (known?.isOverFor(message)) this.#rooms.replace(known)
    const hosted = this.#rooms.find(message.gameId, message.roomId)
    const verdict = hosted ? await hosted.admit(message) : 'elsewhere'
    this.nodes.send(from, { t: 'verdict', ask: message.ask, verdict })
  }

  /** Handles a message from a client whose socket is on another node. */
  #receiveFromClient(from: string, message: Extract<Received, { t: 'text' | 'bytes' | 'ping' | 'end' }>): void {
    const memberships = this.#inbound.get(from)
    const membership = memberships?.get(message.conn)
    if (message.t === 'text') membership?.text(message.text)
    else if (message.t === 'bytes') membership?.bytes(Buffer.from(message.bytes, 'base64'))
    else if (message.t === 'ping') membership?.ping()
    else {
      membership?.end(message.ending)
      memberships?.delete(message.conn)
    }
  }

  disconnected(node: string): void {
    // Sockets of this node must find the room again. Sockets of that node may resume here. The other node may live, and
    // not know of the disconnection, so it is told to do the same.
    for (const membership of this.#outbound.values()) {
      if (membership.node !== node) continue
      membership.end('lost')
      membership.link.close(CLOSE.restart, 'moving')
    }
    const inbound = this.#inbound.get(node)
    this.#inbound.delete(node)
    for (const [conn, membership] of inbound ?? []) {
      membership.end('lost')
      this.nodes.send(node, { t: 'close', conn, code: CLOSE.restart, reason: 'moving' })
    }
  }

  #outboundOf(node: string, conn: string): RemoteMembership | undefined {
    const membership = this.#outbound.get(conn)
    return membership?.node === node ? membership : undefined
  }

  #enter(from: string, { conn, reservation, ...join }: Extract<NodeMessage, { t: 'enter' }>): void {
    const link = new RelayedLink(this.nodes, from, conn)
    const hosted = this.#rooms.find(join.gameId, join.roomId)
    const member = hosted && joinRoom(hosted.room, join, link, reservation)
    if (!member) {
      link.close(hosted ? CLOSE.slow : CLOSE.restart, hosted ? 'full' : 'moving')
      return
    }
    const memberships = this.#inbound.get(from) ?? new Map<string, Membership>()
    this.#inbound.set(from, memberships.set(conn, new LocalMembership(hosted.room, member, link)))
  }
}
