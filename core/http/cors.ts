import type { FastifyInstance } from 'fastify'

/** The responses of a route that scripts of every origin may read (Fetch standard, CORS). */
export interface CorsRule {
  /** Response headers exposed in addition to `WWW-Authenticate` and `Retry-After`. */
  expose?: readonly string[]
}

export interface CorsOptions extends CorsRule {
  /** The paths with their methods, in the form of `Access-Control-Allow-Methods`. */
  paths: Record<string, string>
  /** Request headers allowed in addition to `Authorization` and `Content-Type`, in lower case. */
  headers?: readonly string[]
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Scripts of every origin may read the responses of this route, errors included. Use it only for routes whose
     * responses do not depend on cookies, or that take it back where they do (`hideFromOtherOrigins`).
     */
    cors?: CorsRule
  }
}

/** Returns the headers of a response that scripts of every origin may read. */
export function corsHeaders({ expose = [] }: CorsRule): Record<string, string> {
  return {
    'access-control-allow-origin': '*',
    'access-control-expose-headers': ['www-authenticate', 'retry-after', ...expose].join(', '),
    'cross-origin-resource-policy': 'cross-origin',
  }
}

/**
 * Sets the headers of each route with a `cors` rule. It runs before everything that can refuse a request, because a page
 * that may not read an error takes it for a failure of the network. The not-found handler does the same for a wrong
 * method (error-handler.ts).
 */
export function installCors(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { cors } = request.routeOptions.config
    if (cors) reply.headers(corsHeaders(cors))
    done()
  })
}

/** Takes back what `installCors` allowed, for a response that depends on the caller's cookie, or hides something. */
export function hideFromOtherOrigins(reply: {
  removeHeader(name: string): unknown
  header(name: string, value: string): unknown
}) {
  reply.removeHeader('access-control-allow-origin')
  reply.removeHeader('access-control-expose-headers')
  reply.header('cross-origin-resource-policy', 'same-origin')
}

/**
 * Allows pages of every origin to call the routes registered below, because applications that run in a browser have no
 * server. Use it only for routes that ignore cookies, so that a foreign page cannot use the viewer's session.
 */
export function allowAnyOrigin(app: FastifyInstance, { paths, headers = [], expose = [] }: CorsOptions): void {
  const allowed = ['authorization', 'content-type', ...headers].join(', ')
  app.addHook('onRoute', (route) => {
    route.config = { ...route.config, cors: { expose } } as typeof route.config & object
  })
  for (const [url, methods] of Object.entries(paths)) {
    app.options(
      url,
      { config: { auth: 'none' }, constraints: { origin: 'portal' }, schema: { hide: true } },
      async (_request, reply) =>
        reply
          .code(204)
          .header('access-control-allow-methods', methods)
          .header('access-control-allow-headers', allowed)
          .header('access-control-max-age', '86400')
          .send(),
    )
  }
}
