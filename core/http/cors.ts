import type { FastifyInstance } from 'fastify'

export interface CorsOptions {
  /** The paths with their methods, in the form of `Access-Control-Allow-Methods`. */
  paths: Record<string, string>
  /** Request headers allowed in addition to `Authorization` and `Content-Type`, in lower case. */
  headers?: readonly string[]
  /** Response headers exposed in addition to `WWW-Authenticate` and `Retry-After`, in lower case. */
  expose?: readonly string[]
}

/**
 * Allows pages of every origin to call the routes registered below (Fetch standard, CORS), because applications that
 * run in a browser have no server. Use it only for routes that ignore cookies, so that a foreign page cannot use the
 * viewer's session.
 */
export function allowAnyOrigin(app: FastifyInstance, { paths, headers = [], expose = [] }: CorsOptions): void {
  const exposed = ['www-authenticate', 'retry-after', ...expose].join(', ')
  const allowed = ['authorization', 'content-type', ...headers].join(', ')
  app.addHook('onRequest', (_request, reply, done) => {
    reply
      .header('access-control-allow-origin', '*')
      .header('access-control-expose-headers', exposed)
      .header('cross-origin-resource-policy', 'cross-origin')
    done()
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
