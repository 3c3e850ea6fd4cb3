import { createServer as createPlainServer, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer, type Server, type ServerOptions } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ServerCertificate } from './local-authority.ts'
import type { Origins, Site } from './origins.ts'

/** How long a connection may say nothing before it is known whether it speaks TLS. */
const SILENCE_MS = 10_000
/** The first byte of a TLS handshake (RFC 8446 section 5.1). */
const HANDSHAKE = 0x16

/**
 * Creates an https server that also accepts plain http on the same port, so that an address typed without its scheme
 * gets a response instead of a broken connection.
 */
export function createTlsServer(
  options: ServerOptions,
  { key, cert }: ServerCertificate,
  listeners: {
    secure: RequestListener
    plain: RequestListener
    /** Of plain http; of https it is the caller's to listen for. */
    clientError: (error: NodeJS.ErrnoException, socket: Duplex) => void
  },
): Server {
  const server = createServer({ ...options, key, cert }, listeners.secure)
  const plain = createPlainServer(options, (request, response) => {
    response.shouldKeepAlive = false
    listeners.plain(request, response)
  })
  plain.on('clientError', listeners.clientError)
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

/** Answers plain http on https ports, and on the port beside them: redirects to the same page on https. */
export class PlainHttp {
  /** Paths of the portal that are answered as they are, with all that is below them; in LAN mode only. */
  readonly paths: string[] = ['/_assets']
  /** Where the start page leads instead: to what a newcomer needs before https works for them. */
  landing: string | null = null
  readonly #origins: Origins
  readonly #lan: boolean

  constructor(origins: Origins, { lan }: { lan: boolean }) {
    this.#origins = origins
    this.#lan = lan
  }

  /**
   * Chooses the redirect for a request over plain http; `lasting` marks a redirect that does not change from day to
   * day. It returns null when the request is answered as it is, which for an unknown name is a refusal. The target is a
   * public address of the configuration or the host of a game served there, never an unknown Host header.
   */
  redirect(request: IncomingMessage): { location: string; lasting: boolean } | null {
    const site = this.#siteOf(request)
    const url = request.url?.startsWith('/') ? request.url : '/'
    if (!this.#lan) {
      const to = this.#publicOrigin(site)
      return to === null ? null : { location: to + url, lasting: site.kind !== 'address' }
    }
    const location = this.#onLan(site, url)
    return location === null ? null : { location, lasting: false }
  }

  /** By name alone: plain http may come to another port than https has. */
  #siteOf(request: IncomingMessage): Site {
    const site = this.#origins.of(request)
    return site.kind === 'unknown' ? this.#origins.named(site.host.replace(/:[0-9]+$/, '')) : site
  }

  #publicOrigin(site: Site): string | null {
    if (site.kind === 'game') return this.#origins.atHost(site.host)
    if (site.kind === 'studio') return this.#origins.studio
    return site.kind === 'portal' || site.kind === 'address' ? this.#origins.portal : null
  }

  #onLan(site: Site, url: string): string | null {
    const [path = '/'] = url.split('?', 1)
    const target =
      site.kind === 'game'
        ? `https://${site.host}`
        : site.kind === 'alias' || site.kind === 'former'
          ? site.target
          : this.#origins.portal
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
