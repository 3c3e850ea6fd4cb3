import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isUniqueViolation } from '../data/database.ts'
import {
  Conflict,
  type ErrorDetail,
  Internal,
  InvalidRequest,
  isPlatformError,
  MethodNotAllowed,
  MisdirectedRequest,
  MovedAway,
  NotFound,
  PayloadTooLarge,
  type PlatformError,
  UnsupportedMediaType,
} from '../errors.ts'
import type { Origin, Site } from '../origins/origins.ts'
import { isOurs, redirectToSignIn, type Viewer } from './auth.ts'
import { compressed } from './compression.ts'
import { corsHeaders } from './cors.ts'
import { isOwnForm, returnForm } from './forms/refused-forms.ts'
import { sentenceOf, validationDetails } from './forms/validation-messages.ts'

/** Renders an error page. The kernel injects it, since core/http does not depend on pages. */
export type RenderErrorPage = (
  reply: FastifyReply,
  error: {
    status: number
    /** Default: a sentence for the status. */
    message: string | undefined
    requestId: string
    user: Viewer | null | undefined
  },
) => string

declare module 'fastify' {
  interface FastifyInstance {
    renderErrorPage: RenderErrorPage
  }
}

/**
 * Installs the error handler and the not-found handler of the whole program. Errors have the common form, or are pages
 * on routes for pages.
 */
export function installErrorHandlers(app: FastifyInstance): void {
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const known = toPlatformError(error, request)
    if (known.statusCode >= 500) logFailure(request, error, known)
    // A slash at the end may have made an empty parameter.
    const page = known.statusCode === 404 ? pageWithoutSlash(app, request) : null
    if (page) return reply.redirect(page, 308)
    if (known.statusCode === 401 || known.statusCode === 404 || !isOwnForm(app, request))
      return sendError(app, request, reply, known)
    return returnForm(app, request, reply, { error, known }).then(
      (page) => page ?? sendError(app, request, reply, known),
    )
  })
  app.setNotFoundHandler(async (request, reply) => {
    const site = app.origins.of(request.raw)
    if (site.kind === 'alias') return reply.redirect(site.target + pathOf(request), redirectStatus(request.method))
    if (site.kind === 'former') return leadOn(app, request, reply, site)
    if (site.kind === 'address' && wantsPage(request)) return reply.redirect(`${app.origins.portal}/`, 302)
    // A not-found page also shows that the viewer is signed in.
    const own = site.kind === 'portal' || site.kind === 'studio'
    const page = pageWithoutSlash(app, request)
    if (page) return reply.redirect(page, 308)
    if (own && wantsPage(request)) await app.auth.recogniseVisitor(request)
    return sendError(app, request, reply, noRoute(app, request))
  })
}

/**
 * Redirects from a former address of the platform to the present one. Only GET and HEAD are redirected, since a program
 * that still writes to a former address should get a visible error. Scripts of other sites that hot-link an asset
 * follow the redirect too. The redirect is not cacheable, since the platform may move back.
 */
function leadOn(
  app: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
  { target }: Extract<Site, { kind: 'former' }>,
): FastifyReply {
  if (request.method !== 'GET' && request.method !== 'HEAD') throw new MovedAway(target)
  const path = pathOf(request)
  const [bare = '/'] = path.split('?', 1)
  const { portal, studio } = app.origins
  // A platform whose portal and Studio were one origin may have separated them.
  const atStudio =
    app.routeTable.methodsAt('studio', bare).length > 0 && !app.routeTable.methodsAt('portal', bare).length
  const to = target === portal && atStudio ? studio : target
  return reply
    .headers({
      'cache-control': 'no-store',
      'access-control-allow-origin': '*',
      'cross-origin-resource-policy': 'cross-origin',
    })
    .redirect(to + path, 308)
}

/** Returns the address of the page that is meant by the same one with a slash at its end; null when there is none. */
function pageWithoutSlash(app: FastifyInstance, request: FastifyRequest): string | null {
  const { kind } = app.origins.of(request.raw)
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if ((kind !== 'portal' && kind !== 'studio') || !isRead || !wantsPage(request)) return null
  const address = pathOf(request)
  const [path = '/'] = address.split('?', 1)
  const bare = path.slice(0, -1)
  // An address that begins with two slashes would lead to another host.
  if (!path.endsWith('/') || !/^\/[^/\\]/.test(bare)) return null
  return app.routeTable.methodsAt(kind, bare).includes('GET') ? bare + address.slice(path.length) : null
}

/** Returns only the path and query of a request, so that a redirect can't lead to another host. */
const pathOf = ({ raw }: FastifyRequest): string => (raw.url?.startsWith('/') ? raw.url : '/')

/** A request other than GET and HEAD keeps its method and body. */
const redirectStatus = (method: string): 302 | 307 => (method === 'GET' || method === 'HEAD' ? 302 : 307)

/** Handles a URL that can't be routed: an invalid escape, or an overlong segment. */
export function rejectBadUrl(
  app: FastifyInstance,
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const known =
    error.code === 'FST_ERR_BAD_URL' ? new InvalidRequest('The address is not a URL.') : new NotFound('address')
  reply.header('x-request-id', request.id)
  // Hooks do not run here, and the socket of a request for an upgrade belongs to nobody else.
  if (request.raw.headers.upgrade !== undefined) reply.raw.once('finish', () => request.raw.socket.destroy())
  sendError(app, request, reply, known)
}

/** Converts any thrown value to a catalogued error. Unknown errors become `internal`. */
export function toPlatformError(error: FastifyError, request: FastifyRequest): PlatformError {
  if (isPlatformError(error)) return error
  // Two requests made the same at once, and the service has no better answer.
  if (isUniqueViolation(error)) return new Conflict('The same was made at this moment. Try again.')
  if (error.validation) {
    const details = validationDetails(error)
    const [first] = details as [ErrorDetail]
    const part = error.validationContext === 'body' ? 'request body' : (error.validationContext ?? 'request')
    return new InvalidRequest(`The ${part} is not valid: ${sentenceOf(first)}`).with({ details })
  }
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new PayloadTooLarge('The request body is too large.')
  if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return new UnsupportedMediaType('Send the body as JSON, with `Content-Type: application/json`.')
  }
  const status = error.statusCode ?? 500
  // Fastify and its plugins refuse requests with messages that describe only the request.
  if (status >= 400 && status < 500) return new InvalidRequest(error.message)
  return new Internal(request.id)
}

function noRoute(app: FastifyInstance, request: FastifyRequest): PlatformError {
  const site = app.origins.of(request.raw)
  if (site.kind === 'malformed') return new InvalidRequest('The Host header is malformed or sent twice.')
  if (site.kind === 'unknown' || site.kind === 'address' || site.kind === 'alias')
    return new MisdirectedRequest(site.host)
  const path = request.raw.url?.split('?', 1)[0] ?? '/'
  const allowed = app.routeTable.methodsAt(site.kind as Origin, path)
  if (allowed.length === 0) return new NotFound('address')
  const cors = app.routeTable.corsAt(site.kind as Origin, path)
  const headers = { allow: allowed.join(', '), ...(cors && corsHeaders(cors)) }
  return new MethodNotAllowed(request.method).with({ headers })
}

/** Sends an error in the form that the client expects. */
export function sendError(
  app: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
  error: PlatformError,
): FastifyReply {
  if (error.headers) reply.headers(error.headers)
  reply.header('cache-control', 'no-store')
  if (wantsPage(request)) {
    const page = request.routeOptions.config.page
    // A player who is signed in, or a client that sends a wrong token each time, would come back from the sign-in to the same error.
    const comesBack = request.principal !== null || isOurs(request.headers.authorization)
    if (page && error.statusCode === 401 && app.auth.signInPath && !comesBack)
      return redirectToSignIn(app, request, reply)
    const text = app.renderErrorPage(reply, {
      status: error.statusCode,
      message: error.statusCode === 404 ? undefined : error.message,
      requestId: request.id,
      user: request.principal?.viewer,
    })
    // The response is not cacheable because the error may be temporary. It contains no secret and no input of the
    // client, so compression is safe.
    return reply.send(compressed(request, reply, text))
  }
  const details = error.details?.length ? { details: error.details } : {}
  return reply
    .code(error.statusCode)
    .type('application/json; charset=utf-8')
    .send(JSON.stringify({ error: { message: error.message, code: error.code, ...details }, ...error.body }))
}

/** Logs an answer from 500. What has no cause, such as a limit or a service that is not set up, is no fault to look for. */
function logFailure(request: FastifyRequest, error: FastifyError, { code, message }: PlatformError): void {
  const isExpected = isPlatformError(error) && error.cause === undefined
  if (isExpected) request.log.warn({ error: code, reason: message }, 'request failed')
  // Somebody who has gone away ends what they waited for.
  else if (error.name !== 'AbortError' || !request.raw.destroyed) request.log.error({ err: error }, 'request failed')
}

/** Whether the response is a page: on routes for pages, and for browsers at unknown addresses. */
function wantsPage(request: FastifyRequest): boolean {
  const { page } = request.routeOptions.config
  if (page !== undefined) return page
  return (
    request.is404 &&
    /\btext\/html\b/.test(request.headers.accept ?? '') &&
    !/^\/(api|mp|__service|auth\/service)\//.test(request.raw.url ?? '')
  )
}
