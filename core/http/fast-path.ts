import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { Logger } from 'pino'
import { pathOf } from '../observe/log.ts'
import type { RequestMetrics } from '../observe/metrics.ts'
import type { ServerCertificate } from '../origins/local-authority.ts'
import { createTlsServer, type PlainHttp } from '../origins/tls.ts'
import type { Connections } from './connections.ts'
import { sendRedirect } from './https-redirects.ts'
import { limitPipelining } from './limits/pipelining.ts'
import { nameSocketPeers } from './limits/socket-peers.ts'
import { PARSER_OPTIONS } from './request-rules.ts'

declare module 'fastify' {
  interface FastifyInstance {
    fastPath: FastPath
  }
}

/**
 * Answers a request from memory before routing. Returns true when it has answered, and false when it has left the
 * request untouched for the ordinary route.
 *
 * A handler is synchronous, and answers exactly like its route.
 */
export type FastPathHandler = (request: IncomingMessage, response: ServerResponse) => boolean

/**
 * Handlers that run before the router. They serve the files of games, where routing and hooks would be most of the
 * cost. The plugin that owns a route installs a handler beside it. The route still defines the behaviour, and serves
 * every request that the handler leaves. These requests are counted and logged under the route's name.
 */
export class FastPath {
  readonly #handlers: { route: string; handle: FastPathHandler }[] = []
  readonly #log: Logger
  readonly #metrics: RequestMetrics
  readonly #connections: Connections
  readonly #tls: { certificate: ServerCertificate; plain: PlainHttp } | null
  readonly #secured = new Set<TlsServer>()
  #ended = false
  #ending = false

  /** @param tls certificate for https; null for plain http */
  constructor(
    { log, metrics, connections }: { log: Logger; metrics: RequestMetrics; connections: Connections },
    tls: { certificate: ServerCertificate; plain: PlainHttp } | null = null,
  ) {
    this.#log = log
    this.#metrics = metrics
    this.#connections = connections
    this.#tls = tls
  }

  /** @param route pattern of the handler's route, which labels its metrics */
  install(route: string, handle: FastPathHandler): void {
    this.#handlers.push({ route, handle })
  }

  /** Gives every https server another certificate. Open connections keep theirs. */
  renew(certificate: ServerCertificate): void {
    if (this.#tls) this.#tls.certificate = certificate
    for (const server of this.#secured) server.setSecureContext(certificate)
  }

  /** Stops answering; Fastify then refuses requests. */
  end(): void {
    this.#ended = true
  }

  /** Lets each connection end with its next response. */
  endConnections(): void {
    this.#ending = true
  }

  /** Creates the HTTP server. Passes requests that no handler answers to `next`. */
  createServer(next: RequestListener): Server {
    const options = { ...PARSER_OPTIONS.http, keepAliveTimeout: PARSER_OPTIONS.keepAliveTimeout }
    const connections = this.#connections
    const answer = limitPipelining((request, response) => {
      if (this.#ending) response.shouldKeepAlive = false
      if (!this.#answer(request, response)) next(request, response)
    })
    const secure: RequestListener = (request, response) => {
      if (connections.admit(request, response)) answer(request, response)
    }
    if (!this.#tls) {
      const server = createServer(options, secure)
      nameSocketPeers(server)
      connections.watch(server)
      return server
    }
    const { certificate, plain } = this.#tls
    const server = createTlsServer(options, certificate, {
      secure,
      plain: (request, response) => {
        if (!connections.admit(request, response)) return
        const sent = plain.redirect(request)
        if (sent === null) answer(request, response)
        else sendRedirect(sent, response)
      },
      clientError: (error, socket) => connections.answerClientError(error, socket),
    })
    connections.watch(server as unknown as Server)
    this.#secured.add(server)
    server.once('close', () => this.#secured.delete(server))
    return server as unknown as Server
  }

  #answer(request: IncomingMessage, response: ServerResponse): boolean {
    if (this.#ended) return false
    const began = performance.now()
    for (const { route, handle } of this.#handlers) {
      if (!handle(request, response)) continue
      const ms = performance.now() - began
      const { method = 'GET' } = request
      const { statusCode: status } = response
      this.#metrics.observe(method, route, status, ms / 1000)
      if (this.#log.isLevelEnabled('debug')) {
        this.#log.debug({ method, path: pathOf(request.url), status, ms: Math.round(ms * 10) / 10 }, 'request')
      }
      return true
    }
    return false
  }
}
