import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import {
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
import { redirectToSignIn, type Viewer } from './auth.ts'
import { compressed } from './compression.ts'
import { validationDetails } from './validation.ts'

/** The data of an error page; the kernel passes in the renderer, since this room knows no pages. */
export type RenderErrorPage = (
  reply: FastifyReply,
  error: {
    status: number
    /** Default: a sentence made for the status. */
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

/** One error handler and one not-found handler for the whole program: the one error shape, or a page where pages live. */
export function installErrorHandlers(app: FastifyInstance): void {
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const known = translate(error, request)
    if (known.statusCode >= 500) request.log.error({ err: error }, 'request failed')
    return sendError(app, request, reply, known)
  })
  app.setNotFoundHandler(async (request, reply) => {
    const site = app.origins.of(request.raw)
    if (site.kind === 'alias') return reply.redirect(site.target + pathOf(request), redirectStatus(request.method))
    if (site.kind === 'former') return leadOn(app, request, reply, site)
    if (site.kind === 'address' && wantsPage(request)) return reply.redirect(`${app.origins.portal}/`, 302)
    // A page that is not there belongs to the site all the same: who is signed in stays so to see.
    const own = site.kind === 'portal' || site.kind === 'studio'
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
  // Portal and Studio may have been one, and be two now.
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

/** The path and query of a request, never more than that: a redirect must not lead elsewhere. */
const pathOf = ({ raw }: FastifyRequest): string => (raw.url?.startsWith('/') ? raw.url : '/')

/** A request other than GET and HEAD keeps its method and body. */
const redirectStatus = (method: string): 302 | 307 => (method === 'GET' || method === 'HEAD' ? 302 : 307)

/** An address that no route can be looked up for: a broken escape, or a part beyond all measure. */
export function rejectBadUrl(
  app: FastifyInstance,
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const known =
    error.code === 'FST_ERR_BAD_URL' ? new InvalidRequest('The address is not a URL.') : new NotFound('address')
  reply.header('x-request-id', request.id)
  sendError(app, request, reply, known)
}

/** Turns anything thrown into an error of the catalogue. Unknown errors become `internal`. */
function translate(error: FastifyError, request: FastifyRequest): PlatformError {
  if (isPlatformError(error)) return error
  if (error.validation) {
    const details = validationDetails(error)
    const [first] = details as [ErrorDetail]
    const part = error.validationContext === 'body' ? 'request body' : (error.validationContext ?? 'request')
    return new InvalidRequest(`The ${part} is not valid: ${first.path} ${first.message}.`).with({ details })
  }
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new PayloadTooLarge('The request body is too large.')
  if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return new UnsupportedMediaType('Send the body as JSON, with `Content-Type: application/json`.')
  }
  const status = error.statusCode ?? 500
  // Fastify's and its plugins' own refusals of a request; their messages speak of the request only.
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
  return new MethodNotAllowed(request.method).with({ headers: { allow: allowed.join(', ') } })
}

/** Sends an error in the form that its asker reads. */
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
    if (page && error.statusCode === 401 && app.auth.signInPath) return redirectToSignIn(app, request, reply)
    const text = app.renderErrorPage(reply, {
      status: error.statusCode,
      message: error.statusCode === 404 ? undefined : error.message,
      requestId: request.id,
      user: request.principal?.viewer,
    })
    // Not stored, since the next time all may be well; there is no secret in it, and nothing that the asker chose.
    return reply.send(compressed(request, reply, text))
  }
  const details = error.details?.length ? { details: error.details } : {}
  return reply
    .code(error.statusCode)
    .type('application/json; charset=utf-8')
    .send(JSON.stringify({ error: { message: error.message, code: error.code, ...details }, ...error.body }))
}

/** Pages are for routes that are pages, and for browsers that lost their way. */
function wantsPage(request: FastifyRequest): boolean {
  const { page } = request.routeOptions.config
  if (page !== undefined) return page
  return (
    request.is404 &&
    /\btext\/html\b/.test(request.headers.accept ?? '') &&
    !/^\/(api|mp|__service|auth\/service)\//.test(request.raw.url ?? '')
  )
}
