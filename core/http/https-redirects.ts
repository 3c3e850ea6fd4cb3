import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { StartupError } from '../errors.ts'
import { pathOf } from '../observe/log.ts'
import type { PlainHttp } from '../origins/tls.ts'
import { PARSER_OPTIONS } from './request-rules.ts'

/** The path at which a certificate authority validates a name (RFC 8555 section 8.3), with the allowed tokens. */
const CHALLENGE = /^\/\.well-known\/acme-challenge\/([A-Za-z0-9_-]{1,256})$/

/**
 * A port of plain http beside https (`listen.tls.redirectPort`), for people who type an address without its scheme. It
 * redirects to the same address on https and serves nothing else, except the challenges by which a certificate
 * authority verifies a name (ACME HTTP-01).
 */
export class HttpsRedirects {
  /** The servers that listen. */
  readonly servers: Server[] = []
  readonly #app: Pick<FastifyInstance, 'config' | 'log' | 'connections' | 'ports'>
  readonly #plain: PlainHttp

  constructor(app: Pick<FastifyInstance, 'config' | 'log' | 'connections' | 'ports'>, plain: PlainHttp) {
    this.#app = app
    this.#plain = plain
  }

  /** Opens the port, if one is configured. @throws StartupError when that fails */
  async listen(): Promise<void> {
    const { host, tls } = this.#app.config.listen
    if (!tls.redirectPort) return
    const options = { ...PARSER_OPTIONS.http, keepAliveTimeout: PARSER_OPTIONS.keepAliveTimeout }
    const server = createServer(options, (request, response) => {
      response.shouldKeepAlive = false
      if (!this.#app.connections.admit(request, response)) return
      void this.#answer(request, response)
    })
    this.#app.connections.watch(server)
    server.on('clientError', (error, socket) => this.#app.connections.answerClientError(error, socket))
    await this.#app.ports.listen(server, { port: tls.redirectPort, host }).catch((error: NodeJS.ErrnoException) => {
      throw new StartupError(
        `Port ${tls.redirectPort} (listen.tls.redirectPort) can't be opened (${error.code}); free it, or set another.`,
      )
    })
    this.servers.push(server)
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { challenges } = this.#app.config.listen.tls
    const [, name] = (challenges && CHALLENGE.exec(pathOf(request.url))) || []
    if (name) return sendChallenge(join(challenges, '.well-known/acme-challenge', name), response)
    const sent = this.#plain.redirect(request)
    if (sent) sendRedirect(sent, response)
    else response.writeHead(421, { 'content-length': 0 }).end()
  }
}

async function sendChallenge(file: string, response: ServerResponse): Promise<void> {
  const body = await readFile(file).catch(() => null)
  const headers = { 'content-type': 'application/octet-stream', 'x-content-type-options': 'nosniff' }
  if (body) response.writeHead(200, { ...headers, 'content-length': body.length }).end(body)
  else response.writeHead(404, { 'content-length': 0 }).end()
}

/** Redirects a browser and keeps its method. */
export function sendRedirect(
  { location, lasting }: { location: string; lasting: boolean },
  response: ServerResponse,
): void {
  // The redirect is cached for one hour only, in case the operator returns to plain http.
  const caching = lasting ? 'max-age=3600' : 'no-store'
  response.writeHead(lasting ? 308 : 307, { location, 'content-length': 0, 'cache-control': caching }).end()
}
