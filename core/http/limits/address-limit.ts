import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { compile } from '@fastify/proxy-addr'
import rateLimit from '@fastify/rate-limit'
import type { Config } from '../../config.ts'

/**
 * Bounds the open connections of one address, or of the /64 of an IPv6 address. At the limit a new connection takes the
 * place of the one that has been open longest among those without a pending request; browsers open such a connection
 * again when they need it. Without one, the new connection is closed. So a client that holds connections open without a
 * request keeps nobody out.
 */
export class AddressLimit {
  readonly #most: number
  readonly #isProxy: (address: string) => boolean
  readonly #isIdle: (socket: Socket) => boolean
  readonly #open = new Map<string, Set<Socket>>()

  /**
   * @param options `most`: connections of one address; `isProxy`: whose connections belong to many people and are not
   *   counted; `isIdle`: whether a connection has no pending request
   */
  constructor(options: {
    most: number
    isProxy: (address: string) => boolean
    isIdle: (socket: Socket) => boolean
  }) {
    this.#most = options.most
    this.#isProxy = options.isProxy
    this.#isIdle = options.isIdle
  }

  watch(server: Server): void {
    server.on('connection', (socket: Socket) => this.#admit(socket))
  }

  #admit(socket: Socket): void {
    const { remoteAddress } = socket
    if (remoteAddress === undefined || this.#isProxy(remoteAddress)) return
    const address = rateLimit.normalizeIP(remoteAddress)
    const open = this.#open.get(address) ?? new Set()
    if (open.size >= this.#most && !this.#closeIdle(open)) {
      socket.destroy()
      return
    }
    open.add(socket)
    this.#open.set(address, open)
    socket.once('close', () => {
      open.delete(socket)
      if (open.size === 0 && this.#open.get(address) === open) this.#open.delete(address)
    })
  }

  /** @returns whether there was an idle connection */
  #closeIdle(open: Set<Socket>): boolean {
    for (const socket of open) {
      if (!this.#isIdle(socket)) continue
      open.delete(socket)
      socket.destroy()
      return true
    }
    return false
  }
}

/** Returns a test for the addresses of trusted proxies, as Fastify reads `trustProxy`. */
export function proxyTest(trustProxy: Config['trustProxy']): (address: string) => boolean {
  if (typeof trustProxy === 'boolean') return () => trustProxy
  const trusted = [trustProxy].flat().flatMap((entry) => entry.split(',').map((part) => part.trim()))
  const isTrusted = compile(trusted)
  return (address) => isTrusted(address, 0)
}
