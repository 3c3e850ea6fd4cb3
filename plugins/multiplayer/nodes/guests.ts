import type { FastifyBaseLogger } from 'fastify'
import type { Bus } from '../../../core/events.ts'
import { enter, verdictOn } from '../entering.ts'
import type { Link } from '../room/member.ts'
import { CLOSE } from '../room/room.ts'
import type { Rooms } from '../rooms.ts'
import { type Ending, RoomSeat, type Seat } from '../seat.ts'
import type { Entrance, NodeMessage } from './messages.ts'
import { type NodeListener, Nodes } from './nodes.ts'

type Heard = Parameters<NodeListener['hear']>[1]

/** The way to a client whose socket another node has. */
class FarLink implements Link {
  readonly #nodes: Nodes
  readonly #node: string
  readonly #conn: string

  constructor(nodes: Nodes, node: string, conn: string) {
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

/** The place of a socket of this node in a room of another. */
class FarSeat implements Seat {
  readonly node: string
  readonly link: Link
  readonly #nodes: Nodes
  readonly #conn: string
  readonly #onEnd: () => void

  constructor(nodes: Nodes, node: string, conn: string, link: Link, onEnd: () => void) {
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

  end(ending: Ending): void {
    this.#onEnd()
    this.#nodes.send(this.node, { t: 'end', conn: this.#conn, ending })
  }
}

/** Sockets that arrived at one node and rooms that another runs, brought together. Both sides of it. */
export class Guests implements NodeListener {
  readonly nodes: Nodes
  readonly #rooms: Rooms
  /** Sockets here, seated elsewhere. */
  readonly #away = new Map<string, FarSeat>()
  /** Sockets elsewhere, seated here, by node and name. */
  readonly #here = new Map<string, Map<string, Seat>>()
  #conns = 0

  constructor(bus: Bus, rooms: Rooms, log: FastifyBaseLogger) {
    this.nodes = new Nodes(bus, log, this)
    this.#rooms = rooms
  }

  /** Seats a socket of this node in a room that another runs. */
  seat(node: string, entrance: Entrance, link: Link): Seat {
    const conn = (++this.#conns).toString(36)
    const seat = new FarSeat(this.nodes, node, conn, link, () => this.#away.delete(conn))
    this.#away.set(conn, seat)
    const { gameId, roomId, account, resume } = entrance
    this.nodes.send(node, { t: 'enter', conn, gameId, roomId, account, resume })
    return seat
  }

  hear(from: string, message: Heard): void {
    switch (message.t) {
      case 'enter':
        this.#enter(from, message)
        break
      case 'write': {
        const frames = Buffer.from(message.frames, 'base64')
        for (const conn of message.to) this.#awayAt(from, conn)?.link.write(frames)
        break
      }
      case 'close':
        this.#awayAt(from, message.conn)?.link.close(message.code, message.reason)
        this.#away.delete(message.conn)
        break
      case 'mayEnter': {
        const hosted = this.#rooms.find(message.gameId, message.roomId)
        const verdict = hosted ? verdictOn(hosted.room, message) : 'elsewhere'
        this.nodes.send(from, { t: 'verdict', ask: message.ask, verdict })
        break
      }
      case 'list':
        this.nodes.send(from, { t: 'rooms', ask: message.ask, rooms: this.#rooms.list(message.gameId) })
        break
      default:
        this.#hearClient(from, message)
    }
  }

  /** What a client says whose socket another node has. */
  #hearClient(from: string, message: Extract<Heard, { t: 'text' | 'bytes' | 'ping' | 'end' }>): void {
    const seats = this.#here.get(from)
    const seat = seats?.get(message.conn)
    if (message.t === 'text') seat?.text(message.text)
    else if (message.t === 'bytes') seat?.bytes(Buffer.from(message.bytes, 'base64'))
    else if (message.t === 'ping') seat?.ping()
    else {
      seat?.end(message.ending)
      seats?.delete(message.conn)
    }
  }

  broken(node: string): void {
    // Whoever was seated there looks for the room anew; whoever sat here from there may come back.
    for (const [conn, seat] of this.#away) {
      if (seat.node !== node) continue
      this.#away.delete(conn)
      seat.link.close(CLOSE.restart, 'moving')
    }
    for (const seat of this.#here.get(node)?.values() ?? []) seat.end('lost')
    this.#here.delete(node)
  }

  #awayAt(node: string, conn: string): FarSeat | undefined {
    const seat = this.#away.get(conn)
    return seat?.node === node ? seat : undefined
  }

  #enter(from: string, { conn, ...entrance }: Extract<NodeMessage, { t: 'enter' }>): void {
    const link = new FarLink(this.nodes, from, conn)
    const hosted = this.#rooms.find(entrance.gameId, entrance.roomId)
    const member = hosted && enter(hosted.room, entrance, link)
    if (!member) {
      link.close(hosted ? CLOSE.slow : CLOSE.restart, hosted ? 'full' : 'moving')
      return
    }
    const seats = this.#here.get(from) ?? new Map<string, Seat>()
    this.#here.set(from, seats.set(conn, new RoomSeat(hosted.room, member, link)))
  }
}
