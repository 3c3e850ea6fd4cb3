import { lookup } from 'node:dns/promises'
import net, { createServer, type Server, type Socket } from 'node:net'
import { getSystemErrorName } from 'node:util'
import type { PortAddress } from '../../core/origins/ports.ts'
import { keyOf } from './messages.ts'

/** A process, as far as ports concern it. */
export interface PortUser {
  slot: number
  /** Whether it takes new connections. */
  accepts: boolean
  /** Keys of the ports that it has asked for. */
  readonly ports: Set<string>
  send(message: object, handle?: unknown): void
}

/** How processes get connections. */
export interface SupervisorPorts {
  /** Gives a process the connections of a port. @returns the code of the system's error, or null */
  open(user: PortUser, address: PortAddress): Promise<string | null>
  /** Called when a process takes connections, or does so no more. */
  changed(users: readonly PortUser[]): void
}

/** The flag of libuv for SO_REUSEPORT. */
const UV_TCP_REUSEPORT = 2

/** Creates a bound socket without accepting from it; node:cluster does the same. Returns a negative error number. */
type CreateServerHandle = (address: string, port: number, type: 4 | 6, fd: undefined, flags: number) => object | number

const createServerHandle = (net as unknown as { _createServerHandle?: CreateServerHandle })._createServerHandle

/**
 * Returns the way of sharing ports that this system has.
 *
 * @param forced `handover` is used everywhere by tests
 */
export function portsOf(count: number, forced?: string): SupervisorPorts {
  const canShare = process.platform === 'linux' && createServerHandle !== undefined
  return canShare && forced !== 'handover' ? new ReusedPorts(count) : new HandedConnections()
}

/**
 * Each slot has a listening socket of its own on every port (SO_REUSEPORT), and the system spreads connections evenly
 * over them. The supervisor keeps these sockets open and never accepts. So none is closed while a process is replaced,
 * and no connection that waits in one is refused. A living process accepts for a slot that has none.
 */
class ReusedPorts implements SupervisorPorts {
  readonly #count: number
  /** The sockets of each port, by slot. */
  readonly #sockets = new Map<string, { address: PortAddress; bySlot: Map<number, object> }>()
  /** Who accepts for a slot that has no process. */
  readonly #stewards = new Map<number, PortUser>()

  constructor(count: number) {
    this.#count = count
  }

  async open(user: PortUser, address: PortAddress): Promise<string | null> {
    const key = keyOf(address)
    const opened = this.#sockets.get(key) ?? (await this.#bind(address))
    if (typeof opened === 'string') return opened
    this.#sockets.set(key, opened)
    user.ports.add(key)
    this.#give(user, key, user.slot)
    for (const [slot, steward] of this.#stewards) if (steward === user) this.#give(user, key, slot)
    return null
  }

  changed(users: readonly PortUser[]): void {
    const accepting = users.filter(({ accepts }) => accepts)
    for (let slot = 1; slot <= this.#count; slot++) {
      const own = accepting.some((user) => user.slot === slot)
      const steward = this.#stewards.get(slot)
      if (steward && (own || !accepting.includes(steward))) {
        this.#stewards.delete(slot)
        if (own) steward.send({ t: 'release', slot })
      }
      const [next] = accepting
      if (own || !next || this.#stewards.has(slot)) continue
      this.#stewards.set(slot, next)
      for (const key of next.ports) this.#give(next, key, slot)
    }
  }

  #give(user: PortUser, key: string, slot: number): void {
    const port = this.#sockets.get(key)
    if (port) user.send({ t: 'accept', slot, ...port.address }, port.bySlot.get(slot))
  }

  async #bind(address: PortAddress) {
    const found = await lookup(address.host).catch((error) => String(error.code))
    if (typeof found === 'string') return found
    const bySlot = new Map<number, object>()
    for (let slot = 1; slot <= this.#count; slot++) {
      const type = found.family === 6 ? 6 : 4
      const handle = createServerHandle?.(found.address, address.port, type, undefined, UV_TCP_REUSEPORT)
      if (typeof handle !== 'object') return getSystemErrorName(handle ?? -1)
      bySlot.set(slot, handle)
    }
    return { address, bySlot }
  }
}

/** Connections that arrive while no process takes any; more than this are cut. */
const WAITING = 1000

/** The supervisor accepts, and hands each connection to the next process: for systems without even SO_REUSEPORT. */
class HandedConnections implements SupervisorPorts {
  readonly #servers = new Map<string, { address: PortAddress; server: Server; waiting: Socket[] }>()
  #users: readonly PortUser[] = []
  #turn = 0

  async open(user: PortUser, address: PortAddress): Promise<string | null> {
    const key = keyOf(address)
    if (!this.#servers.has(key)) {
      const code = await this.#listen(address)
      if (code) return code
    }
    user.ports.add(key)
    return null
  }

  changed(users: readonly PortUser[]): void {
    this.#users = users
    for (const port of this.#servers.values()) for (const socket of port.waiting.splice(0)) this.#hand(port, socket)
  }

  #hand(port: { address: PortAddress; waiting: Socket[] }, socket: Socket): void {
    const key = keyOf(port.address)
    const takers = this.#users.filter(({ accepts, ports }) => accepts && ports.has(key))
    const taker = takers[this.#turn++ % Math.max(1, takers.length)]
    if (taker) taker.send({ t: 'connection', ...port.address }, socket)
    else if (port.waiting.length < WAITING) port.waiting.push(socket)
    else socket.destroy()
  }

  async #listen(address: PortAddress): Promise<string | null> {
    const server = createServer({ pauseOnConnect: true, allowHalfOpen: true, noDelay: true })
    const port = { address, server, waiting: [] as Socket[] }
    server.on('connection', (socket) => {
      socket.on('error', () => {})
      this.#hand(port, socket)
    })
    const code = await new Promise<string | null>((resolve) => {
      server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'EINVAL'))
      server.listen(address.port, address.host, () => resolve(null))
    })
    if (!code) this.#servers.set(keyOf(address), port)
    return code
  }
}
