import { createServer as createPlainServer, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer, type Server, type ServerOptions } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ServerCertificate } from './local-authority.ts'
import type { Origins, Site } from './origins.ts'

/** Maximum silence of a new connection before its protocol is known. */
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
    /** Handles errors of plain http. The caller listens for those of https. */
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
  // A shutdown closes idle connections first, which include connections that have not sent anything.
  const closeIdle = server.closeIdleConnections.bind(server)
  server.closeIdleConnections = () => {
    for (const socket of silent) socket.destroy()
    closeIdle()
  }
  return server
}

/** Handles plain http on https ports and on the redirect port: redirects to the same page on https. */
export class PlainHttp {
  /** Paths of the portal that are served over plain http, including everything below them; in LAN mode only. */
  readonly paths: string[] = ['/_assets']
  /** Redirect target of the start page, which explains to a new visitor how to use https. */
  landing: string | null = null
  readonly #origins: Origins
  readonly #lan: boolean

  constructor(origins: Origins, { lan }: { lan: boolean }) {
    this.#origins = origins
    this.#lan = lan
  }

  /**
   * Returns the redirect of a request over plain http; `lasting` marks a redirect that does not change from day to day.
   * Returns null for a request that is answered directly, which for an unknown name is a refusal. The target is a
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

  /** Determines the site by name alone, because plain http may use another port than https. */
  #siteOf(request: IncomingMessage): Site {
    const site = this.#origins.of(request)
    return site.kind === 'unknown' ? this.#origins.named(site.host.replace(/:[0-9]+$/, '')) : site
  }

  #publicOrigin(site: Site): string | null {
    if (site.kind === 'game') return this.#origins.atHost(site.host)
    if (site.kind === 'studio') return this.#origins.studio
    if (site.kind === 'alias') return site.target
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
