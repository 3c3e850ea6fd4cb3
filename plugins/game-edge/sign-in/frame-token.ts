import type { IncomingMessage } from 'node:http'

/**
 * The prefix in `Sec-WebSocket-Protocol`, the only header that browsers let a socket set. The server answers with
 * `service`.
 */
const SUBPROTOCOL = 'service.token.'

/** Returns the frame token of a request: `Authorization: Service …` or, for sockets, a subprotocol. */
export function frameTokenIn({ headers }: IncomingMessage): string | null {
  const { authorization } = headers
  if (authorization !== undefined) return /^Service +([A-Za-z0-9._-]+) *$/i.exec(authorization)?.[1] ?? null
  if (headers.upgrade === undefined) return null
  for (const name of headers['sec-websocket-protocol']?.split(',') ?? []) {
    const protocol = name.trim()
    if (protocol.startsWith(SUBPROTOCOL)) return protocol.slice(SUBPROTOCOL.length)
  }
  return null
}
