import type { Routes } from '../../../core/routes.ts'
import { SCOPES } from './scopes.ts'

/** Authorization server metadata (RFC 8414): what client libraries discover by themselves. */
export const metadataRoutes: Routes = async (app) => {
  const { portal } = app.origins
  const metadata = JSON.stringify({
    issuer: portal,
    authorization_endpoint: `${portal}/oauth/authorize`,
    token_endpoint: `${portal}/api/oauth/token`,
    userinfo_endpoint: `${portal}/api/oauth/userinfo`,
    service_documentation: `${portal}/docs`,
    scopes_supported: Object.keys(SCOPES),
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
  })

  app.get(
    '/.well-known/oauth-authorization-server',
    {
      config: { auth: 'none' },
      constraints: { origin: 'portal' },
      schema: { tags: ['OAuth'], summary: 'Authorization server metadata (RFC 8414)' },
    },
    async (_request, reply) =>
      reply
        .type('application/json; charset=utf-8')
        .header('access-control-allow-origin', '*')
        .header('cross-origin-resource-policy', 'cross-origin')
        .header('cache-control', 'public, max-age=300')
        .send(metadata),
  )
}
