import type { Server } from 'node:http'
import { createServer, type Server as NetServer, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { PortAddress, Ports } from '../../core/origins/ports.ts'
import { keyOf, type ToProcess } from './messages.ts'

/** A server of this process, and what brings it connections. */
interface SharedServer {
  server: Server
  acceptors: { slot: number; acceptor: NetServer }[]
  sockets: Set<Socket>
  /** Those of them that WebSockets have taken over. */
  upgraded: Set<Duplex>
  listening: PromiseWithResolvers<void>
}

/**
 * The ports of a process that shares them with others: the supervisor has opened them, and sends either listening
 * sockets to accept from, or connections. A port stays open while processes come and go.
 */
export class SharedPorts implements Ports {
  readonly shared = true
  readonly #servers = new Map<string, SharedServer>()
  readonly #ask: (address: PortAddress) => void
  #accepting = true

  /** @param ask asks the supervisor for a port */
  constructor(ask: (address: PortAddress) => void) {
    this.#ask = ask
  }

  get connections(): number {
    return [...this.#servers.values()].reduce((sum, { sockets, upgraded }) => sum + sockets.size - upgraded.size, 0)
  }

  async listen(server: Server, { host, port }: PortAddress): Promise<void> {
    const shared: SharedServer = {
      server,
      acceptors: [],
      sockets: new Set(),
      upgraded: new Set(),
      listening: Promise.withResolvers<void>(),
    }
    server.on('upgrade', (_request, socket: Duplex) => {
      shared.upgraded.add(socket)
      socket.once('close', () => shared.upgraded.delete(socket))
    })
    this.#servers.set(keyOf({ host, port }), shared)
    this.#ask({ host, port })
    try {
      await shared.listening.promise
    } catch (error) {
      this.#servers.delete(keyOf({ host, port }))
      throw error
    }
    // An HTTP server begins to watch over its timeouts when it listens, and this one never listens itself.
    server.emit('listening')
  }

  /** Obeys a message of the supervisor, and ignores those that are not about ports. */
  receive(message: ToProcess, handle: unknown): void {
    if (message.t === 'release') {
      for (const { acceptors } of this.#servers.values())
        for (const { slot, acceptor } of acceptors) if (slot === message.slot) acceptor.close()
      return
    }
    if (message.t !== 'listening' && message.t !== 'accept' && message.t !== 'connection') return
    const shared = this.#servers.get(keyOf(message))
    if (message.t === 'connection') {
      if (!handle) return // the client has gone meanwhile
      if (shared) this.#serve(shared, handle as Socket)
      else (handle as Socket).destroy()
      return
    }
    if (!shared) return
    if (message.t === 'accept') this.#accept(shared, message.slot, handle)
    else if (message.code) shared.listening.reject(Object.assign(new Error(message.code), { code: message.code }))
    else shared.listening.resolve()
  }

  stopAccepting(): void {
    this.#accepting = false
    for (const { acceptors } of this.#servers.values()) for (const { acceptor } of acceptors) acceptor.close()
  }

  async close(server: Server): Promise<void> {
    const shared = [...this.#servers.values()].find((each) => each.server === server)
    if (!shared) return
    for (const { acceptor } of shared.acceptors) acceptor.close()
    server.close()
    await Promise.all(
      [...shared.sockets].map((socket) => new Promise<void>((resolve) => socket.once('close', () => resolve()))),
    )
  }

  #accept(shared: SharedServer, slot: number, handle: unknown): void {
    if (!this.#accepting) return
    // The options are those of an HTTP server.
    const acceptor = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#serve(shared, socket))
    acceptor.on('error', (error) => shared.listening.reject(error))
    acceptor.listen(handle)
    shared.acceptors.push({ slot, acceptor })
  }

  #serve({ server, sockets }: SharedServer, socket: Socket): void {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    server.emit('connection', socket)
    socket.resume()
  }
}
