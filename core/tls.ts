import { createServer as createPlainServer, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer, type Server, type ServerOptions } from 'node:https'
import type { Socket } from 'node:net'
import type { ServerCertificate } from './local-authority.ts'
import type { Origins } from './origins.ts'

/** How long a connection may say nothing before it is known whether it speaks TLS. */
const SILENCE_MS = 10_000
/** The first byte of a TLS handshake (RFC 8446 section 5.1). */
const HANDSHAKE = 0x16

/**
 * An https server that also understands plain http on the same port: whoever types an address without its scheme gets an
 * answer instead of a broken connection.
 */
export function createTlsServer(
  options: ServerOptions,
  { key, cert }: ServerCertificate,
  listeners: { secure: RequestListener; plain: RequestListener },
): Server {
  const server = createServer({ ...options, key, cert }, listeners.secure)
  const plain = createPlainServer(options, (request, response) => {
    response.shouldKeepAlive = false
    listeners.plain(request, response)
  })
  const toTls = server.listeners('connection') as ((socket: Socket) => void)[]
  server.removeAllListeners('connection')
  const silent = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    const forget = () => {
      silent.delete(socket)
      socket.off('error', forget).off('close', forget).off('timeout', end).setTimeout(0)
    }
    const end = () => socket.destroy()
    silent.add(socket)
    socket.on('error', forget).on('close', forget).setTimeout(SILENCE_MS, end)
    socket.once('data', (first: Buffer) => {
      forget()
      socket.pause()
      socket.unshift(first)
      if (first[0] === HANDSHAKE) for (const listen of toTls) listen.call(server, socket)
      else plain.emit('connection', socket)
      process.nextTick(() => socket.resume())
    })
  })
  // A stop closes what is idle first: who has not said anything yet is.
  const closeIdle = server.closeIdleConnections.bind(server)
  server.closeIdleConnections = () => {
    for (const socket of silent) socket.destroy()
    closeIdle()
  }
  return server
}

/** What is answered over plain http on ports that speak https. Everything else leads to the same place on https. */
export class PlainHttp {
  /** Paths, with all that is below them. */
  readonly paths: string[] = ['/_assets']
  /** Where the start page leads instead: to what a newcomer needs before https works for them. */
  landing: string | null = null
  readonly #origins: Origins

  constructor(origins: Origins) {
    this.#origins = origins
  }

  /** Where a request over plain http is sent, or null when it is answered as it is. */
  redirect(request: IncomingMessage): string | null {
    const site = this.#origins.of(request)
    const url = request.url?.startsWith('/') ? request.url : '/'
    const [path = '/'] = url.split('?', 1)
    const target =
      site.kind === 'game' ? `https://${site.host}` : site.kind === 'alias' ? site.target : this.#origins.portal
    const own = this.#origins.portal.replace(/^https:/, 'http:')
    if (target === this.#origins.portal) {
      if (path === '/' && this.landing) return own + this.landing
      if (this.paths.some((open) => path === open || path.startsWith(`${open}/`))) {
        return site.kind === 'portal' ? null : own + url
      }
    }
    return target + url
  }
}
