import type { FastifyInstance } from 'fastify'

/**
 * Lets pages of every origin call what is registered below (Fetch standard, CORS): applications that run in a browser
 * have no server. No cookie is looked at here, so there is nothing that a foreign page could borrow.
 */
export function allowAnyOrigin(app: FastifyInstance, preflight: Record<string, string>): void {
  app.addHook('onRequest', async (_request, reply) => {
    reply
      .header('access-control-allow-origin', '*')
      .header('access-control-expose-headers', 'www-authenticate, retry-after')
      .header('cross-origin-resource-policy', 'cross-origin')
  })
  for (const [url, methods] of Object.entries(preflight)) {
    app.options(
      url,
      { config: { auth: 'none' }, constraints: { origin: 'portal' }, schema: { hide: true } },
      async (_request, reply) =>
        reply
          .code(204)
          .header('access-control-allow-methods', methods)
          .header('access-control-allow-headers', 'authorization, content-type')
          .header('access-control-max-age', '86400')
          .send(),
    )
  }
}
