import { once } from 'node:events'
import type { Server } from 'node:http'

declare module 'fastify' {
  interface FastifyInstance {
    ports: Ports
  }
}

export interface PortAddress {
  host: string
  port: number
}

/** How the servers of this process get their connections. */
export interface Ports {
  /** Whether other processes of this machine listen on the same ports, and the program opens that of the app itself. */
  shared: boolean
  /** Resolves once connections arrive at the server. Rejects with the system's error. */
  listen(server: Server, address: PortAddress): Promise<void>
  /** The number of open connections that are no WebSockets; counted for shared ports only. */
  readonly connections: number
  /** Takes no new connections from now on, on any shared port. Those that exist go on. */
  stopAccepting(): void
  /** Takes no new connections for a server, and resolves when it has none any more. */
  close(server: Server): Promise<void>
}

/** The ports of a process that shares them with no other. */
export const ownPorts: Ports = {
  shared: false,
  async listen(server, { port, host }) {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, host, () => {
        server.off('error', reject)
        resolve()
      })
    })
  },
  connections: 0,
  stopAccepting() {},
  async close(server) {
    const closed = once(server, 'close')
    server.close()
    await closed
  },
}

/** The place of this process among those of one machine that share the ports and the data folder. */
export interface Siblings {
  /** From 1 on. Work for which one process of the machine is enough is done by the first. */
  number: number
  count: number
}
