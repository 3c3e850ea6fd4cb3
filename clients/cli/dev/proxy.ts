import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import https from 'node:https'
import type { Duplex } from 'node:stream'
import { localLookup } from '../http.ts'

/** The platform's paths on a game's origin; all other paths are files of the game. */
export const isPlatformPath = (path: string): boolean => /^\/(?:auth\/service|mp|__service)(?:\/|$)/.test(path)

const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Forwards requests to a game's own origin, which treats them as requests of its own pages. */
export class PlatformProxy {
  readonly #origin: URL
  readonly #own: string
  readonly #preview: () => string | null

  /**
   * @param origin the game's origin
   * @param own the origin of the development server's pages
   * @param preview the name of the preview whose rooms the pages enter; null for the rooms of the game
   */
  constructor(origin: string, own: string, preview: () => string | null) {
    this.#origin = new URL(origin)
    this.#own = own
    this.#preview = preview
  }

  forward(request: IncomingMessage, response: ServerResponse): void {
    const outgoing = this.#ask(request, (answer) => {
      const headers = this.#answerHeaders(answer)
      response.writeHead(answer.statusCode ?? 502, headers)
      answer.pipe(response)
    })
    outgoing.on('error', (error) => {
      if (response.headersSent) response.destroy()
      else {
        response.writeHead(502, { 'content-type': 'application/json' })
        const message = `${this.#origin.origin} does not answer (${(error as NodeJS.ErrnoException).code}). Is the platform running?`
        response.end(JSON.stringify({ error: { message, code: 'unreachable' } }))
      }
    })
    response.on('close', () => outgoing.destroy())
    request.pipe(outgoing)
  }

  /** Forwards a WebSocket. It connects the two sockets after both sides have completed the upgrade. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const outgoing = this.#ask(request, (answer) => {
      // The platform refused the upgrade, so its response is forwarded unchanged.
      socket.write(headOf(answer))
      answer.pipe(socket)
    })
    // A page that reloads gives up the socket that it was opening. The upgrade must not complete for nobody, because a
    // player would be in the room whom no page leads. A client sends nothing before the answer (RFC 6455, section 4.1),
    // so reading finds only the end.
    const abandon = () => outgoing.destroy()
    socket.on('end', abandon).on('close', abandon).resume()
    outgoing.on('upgrade', (answer, upstream, upstreamHead) => {
      socket.off('end', abandon).off('close', abandon)
      socket.write(headOf(answer))
      if (upstreamHead.length > 0) socket.write(upstreamHead)
      if (head.length > 0) upstream.write(head)
      upstream.pipe(socket).pipe(upstream)
      for (const [one, other] of [
        [socket, upstream],
        [upstream, socket],
      ] as const) {
        one.on('error', () => other.destroy())
        one.on('close', () => other.destroy())
      }
    })
    outgoing.on('error', () => socket.destroy())
    outgoing.end()
  }

  #ask(request: IncomingMessage, answered: (answer: IncomingMessage) => void): http.ClientRequest {
    const upgrade = request.headers.upgrade
    const headers: http.OutgoingHttpHeaders = {}
    for (const [name, value] of Object.entries(request.headers)) if (!HOP_BY_HOP.has(name)) headers[name] = value
    headers.host = this.#origin.host
    if (headers.origin === this.#own) headers.origin = this.#origin.origin
    if (headers.referer?.startsWith(this.#own))
      headers.referer = this.#origin.origin + headers.referer.slice(this.#own.length)
    if (upgrade) Object.assign(headers, { connection: 'Upgrade', upgrade })
    const { request: send } = this.#origin.protocol === 'https:' ? https : http
    const address = new URL(request.url ?? '/', this.#origin)
    const preview = this.#preview()
    if (preview !== null && address.pathname.startsWith('/mp/rooms/')) address.searchParams.set('preview', preview)
    return send(address, { method: request.method, headers, lookup: localLookup, agent: false }, answered)
  }

  #answerHeaders({ headers }: IncomingMessage): http.OutgoingHttpHeaders {
    const own: http.OutgoingHttpHeaders = {}
    for (const [name, value] of Object.entries(headers)) if (!HOP_BY_HOP.has(name)) own[name] = value
    if (own.location?.startsWith(this.#origin.origin))
      own.location = this.#own + own.location.slice(this.#origin.origin.length)
    return own
  }
}

/** Serializes the head of a response. */
function headOf({ statusCode, statusMessage, rawHeaders }: IncomingMessage): string {
  let head = `HTTP/1.1 ${statusCode} ${statusMessage}\r\n`
  for (let index = 0; index < rawHeaders.length; index += 2)
    head += `${rawHeaders[index]}: ${rawHeaders[index + 1]}\r\n`
  return `${head}\r\n`
}
