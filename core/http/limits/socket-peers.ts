import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Gives each connection over a Unix socket the address of this machine. The peer is a proxy here, which `trustProxy` names
 * by that address; without one, every visitor would have the same limits.
 */
export function nameSocketPeers(server: Server): void {
  server.prependListener('connection', (socket: Socket) => {
    if (typeof server.address() === 'string') Object.defineProperty(socket, 'remoteAddress', { value: '127.0.0.1' })
  })
}
