import type { IncomingMessage } from 'node:http'

/** Of `Sec-WebSocket-Protocol`: browsers let a socket carry nothing else. The server answers with `service` alone. */
const SUBPROTOCOL = 'service.token.'

/** The frame token that a request carries, as `Authorization: Service …` or, for sockets, as a subprotocol. */
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
