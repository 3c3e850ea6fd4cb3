import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
  onSendHookHandler,
  preHandlerHookHandler,
} from 'fastify'
import { InvalidRequest, Prefetched, WritesStopped } from '../errors.ts'
import { pathOf, RequestLine } from '../observe/log.ts'
import { RequestLog } from '../observe/request-log.ts'
import { sendRefusal } from './connections.ts'
import { closeAfterResponse } from './drain-body.ts'
import { isPrefetch } from './headers.ts'
import { faultOf, faultyBody } from './limits/body-faults.ts'

/**
 * Time limits that close slow sockets. Node's defaults are minutes long, and `requestTimeout` alone does not close a
 * socket. Upload routes have their own limits, so the whole request may take long, but its headers may not.
 */
export const PARSER_OPTIONS = {
  requestTimeout: 0,
  keepAliveTimeout: 72_000,
  http: { headersTimeout: 15_000, connectionsCheckingInterval: 1000, requestTimeout: 0 },
} as const

/** Maximum time of a JSON or form body. Long bodies have their own rules (core/http/uploads.ts). */
const BODY_MS = 20_000

/** Methods whose body Fastify never reads. */
const BODILESS: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/** Methods that change nothing (RFC 9110 section 9.2.1). */
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Installs the rules for the requests of all routes. */
export function installRequestRules(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    // @fastify/websocket answers an upgrade of any GET route with 101, before authentication.
    if (request.raw.headers.upgrade !== undefined) {
      if (!acceptsUpgrade(request.routeOptions)) return done(new InvalidRequest('This address is not a WebSocket.'))
      app.connections.markUpgraded(request.raw.socket)
    }
    if (app.writeGate.closed && !SAFE.has(request.method)) return done(new WritesStopped())
    if (request.raw.url?.includes('%00')) return done(new InvalidRequest('The address has a NUL character.'))
    const { headers } = request.raw
    if (headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined) limitBody(request, reply)
    done()
  })

  app.addHook('onRoute', (route) => {
    if ([route.method].flat().every((method) => BODILESS.has(method))) return
    // After validation: that is cheaper for a body which is refused anyway.
    route.preHandler = [refuseFaultyBody, ...[route.preHandler ?? []].flat()]
    route.onSend = [...[route.onSend ?? []].flat(), answerEarly]
  })

  app.addHook('onResponse', (request, reply, done) => {
    const { config, url = '' } = request.routeOptions
    const line = new RequestLine(request, {
      path: config.secretPath ? url : pathOf(request.raw.url),
      status: reply.statusCode,
      took: reply.elapsedTime,
    })
    // Tracing gives a request its own log, with the id of the request and its span.
    const log = request.log instanceof RequestLog ? app.log : request.log
    if (log === app.log) line.reqId = request.id
    if (config.quiet) log.debug(line, 'request')
    else log.info(line, 'request')
    done()
  })

  // Only JSON and forms are accepted. Clients that announce JSON and send nothing mean no body.
  app.removeContentTypeParser(['text/plain', 'application/json'])
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') return done(null, undefined)
    parseJson(request, body as string, (error, value) => {
      if (error) return done(new InvalidRequest('The request body is not JSON.'))
      done(null, value)
    })
  })
}

/** Limits the time of a body. Node's own `requestTimeout` would also cut off large uploads. */
function limitBody(request: FastifyRequest, reply: FastifyReply): void {
  const { headers, socket } = request.raw
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  if (!hasBody || request.routeOptions.config.upload) return
  const late = setTimeout(() => {
    if (reply.raw.headersSent) return socket.destroy()
    sendRefusal(socket, { status: '408 Request Timeout', message: 'The request came too slowly.' }, () =>
      socket.destroy(),
    )
  }, BODY_MS)
  request.raw.once('end', () => clearTimeout(late))
  // A body that is not read never ends, but its response does.
  reply.raw.once('close', () => clearTimeout(late))
}

const answerEarly: onSendHookHandler = (request, reply, payload, done) => {
  closeAfterResponse(request, reply)
  done(null, payload)
}

const refuseFaultyBody: preHandlerHookHandler = (request, _reply, done) => {
  const fault = faultOf(request.body)
  done(fault ? faultyBody(fault) : undefined)
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Logs requests at `debug` only, for game files. */
    quiet?: boolean
    /** Logs the route instead of the path, because the path is a secret (a sign-in link). */
    secretPath?: boolean
    /** Marks a WebSocket route; every other route refuses upgrades. */
    upgrade?: boolean
  }
}

const acceptsUpgrade = (options: { config: { upgrade?: boolean } }): boolean => options.config.upgrade === true

/**
 * An `onRequest` hook for GET routes that have an effect, such as signing out. A browser drops a refused prefetch, and
 * asks again when somebody follows the link.
 */
export const refusePrefetch: onRequestHookHandler = (request, _reply, done) =>
  done(isPrefetch(request.headers) ? new Prefetched() : undefined)
