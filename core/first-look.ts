import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { Logger } from 'pino'
import type { ServerCertificate } from './local-authority.ts'
import { pathOf } from './log.ts'
import type { RequestMetrics } from './metrics.ts'
import { sendRedirect } from './plain-redirects.ts'
import { PARSER_OPTIONS } from './request-rules.ts'
import { createTlsServer, type PlainHttp } from './tls.ts'

declare module 'fastify' {
  interface FastifyInstance {
    firstLooks: FirstLooks
  }
}

/**
 * Answers a request at once, with what is ready in memory, and says so by true; or leaves it untouched (false), for the
 * route that answers the same request in the ordinary way.
 *
 * It must not wait for anything, and must not answer differently from that route: it is that route's short cut.
 */
export type FirstLook = (request: IncomingMessage, response: ServerResponse) => boolean

/**
 * Short cuts before the router, for what is asked for so often that routing and hooks would be most of its cost: the
 * files of games. A plugin that owns a route installs the look beside it; the route stays the place where its behaviour
 * is defined, and serves whatever the look leaves. Such requests are counted and logged as the route's others are.
 */
export class FirstLooks {
  readonly #looks: { route: string; look: FirstLook }[] = []
  readonly #log: Logger
  readonly #metrics: RequestMetrics
  readonly #tls: { certificate: ServerCertificate; plain: PlainHttp } | null
  readonly #secured = new Set<TlsServer>()
  #ended = false

  /** @param tls for https; null for plain http */
  constructor(
    log: Logger,
    metrics: RequestMetrics,
    tls: { certificate: ServerCertificate; plain: PlainHttp } | null = null,
  ) {
    this.#log = log
    this.#metrics = metrics
    this.#tls = tls
  }

  /** @param route the pattern of the route that it is a short cut of, as metrics name it */
  install(route: string, look: FirstLook): void {
    this.#looks.push({ route, look })
  }

  /** Has every server of https use another certificate from now on; connections that stand are left alone. */
  renew(certificate: ServerCertificate): void {
    if (this.#tls) this.#tls.certificate = certificate
    for (const server of this.#secured) server.setSecureContext(certificate)
  }

  /** No more short cuts: Fastify turns requests away from here on. */
  end(): void {
    this.#ended = true
  }

  /** A server whose requests are looked at first, and go on to `next` when nobody took them. */
  createServer(next: RequestListener): Server {
    const options = { ...PARSER_OPTIONS.http, keepAliveTimeout: PARSER_OPTIONS.keepAliveTimeout }
    const answer: RequestListener = (request, response) => {
      if (!this.#take(request, response)) next(request, response)
    }
    if (!this.#tls) return createServer(options, answer)
    const { certificate, plain } = this.#tls
    const server = createTlsServer(options, certificate, {
      secure: answer,
      plain: (request, response) => {
        const sent = plain.redirect(request)
        if (sent === null) answer(request, response)
        else sendRedirect(sent, response)
      },
    })
    this.#secured.add(server)
    server.once('close', () => this.#secured.delete(server))
    return server as unknown as Server
  }

  #take(request: IncomingMessage, response: ServerResponse): boolean {
    if (this.#ended) return false
    const began = performance.now()
    for (const { route, look } of this.#looks) {
      if (!look(request, response)) continue
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
