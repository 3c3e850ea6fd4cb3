import type { Routes } from '../../../core/http/routes.ts'
import { SCOPES } from './scopes.ts'
import { SIGNING_ALGORITHMS } from './signing-keys.ts'
import { GRANT_TYPES } from './token.ts'

const config = { auth: 'none' } as const
const constraints = { origin: 'portal' }
const CONFIDENTIAL = ['client_secret_basic', 'client_secret_post']

const METADATA = { 200: { what: 'The metadata.', types: ['application/json'] } }
const KEYS = { 200: { what: 'The public keys, as a JWK Set.', types: ['application/json'] } }

/** Metadata for client libraries: RFC 8414, OpenID Connect Discovery, and the keys of id tokens. */
export const metadataRoutes: Routes = async (app) => {
  const { portal, studio } = app.origins
  const { resources, oauth } = app.identity
  const { registration } = oauth
  // Plugins that are registered later add resources.
  let json: string | undefined
  const metadata = () =>
    JSON.stringify({
      issuer: portal,
      authorization_endpoint: `${portal}/oauth/authorize`,
      token_endpoint: `${portal}/api/oauth/token`,
      userinfo_endpoint: `${portal}/api/oauth/userinfo`,
      jwks_uri: `${portal}/api/oauth/jwks`,
      revocation_endpoint: `${portal}/api/oauth/revoke`,
      introspection_endpoint: `${portal}/api/oauth/introspect`,
      device_authorization_endpoint: `${portal}/api/oauth/device_authorization`,
      end_session_endpoint: `${portal}/oauth/logout`,
      service_documentation: `${portal}/docs`,
      // Not part of the RFC. The command line finds assets and Blender jobs at this address.
      service_studio: studio,
      ...(registration === 'open'
        ? { registration_endpoint: `${portal}/api/oauth/register`, client_id_metadata_document_supported: true }
        : {}),
      scopes_supported: [...new Set([...Object.keys(SCOPES), ...resources.scopes()])],
      claims_supported: [
        'iss',
        'sub',
        'aud',
        'exp',
        'iat',
        'auth_time',
        'nonce',
        'at_hash',
        'name',
        'picture',
        'image_url',
        'email',
        'email_verified',
      ],
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: GRANT_TYPES,
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: SIGNING_ALGORITHMS,
      prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
      token_endpoint_auth_methods_supported: [...CONFIDENTIAL, 'none'],
      revocation_endpoint_auth_methods_supported: [...CONFIDENTIAL, 'none'],
      introspection_endpoint_auth_methods_supported: CONFIDENTIAL,
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      claims_parameter_supported: false,
      request_parameter_supported: false,
      request_uri_parameter_supported: false,
    })

  const documents = {
    '/.well-known/oauth-authorization-server': 'Authorization server metadata (RFC 8414)',
    '/.well-known/openid-configuration': 'OpenID provider metadata (OpenID Connect Discovery)',
  }
  for (const [url, summary] of Object.entries(documents)) {
    app.get(
      url,
      { config, constraints, schema: { tags: ['OAuth'], summary, sends: METADATA } },
      async (_request, reply) => {
        json ??= metadata()
        return reply.type('application/json; charset=utf-8').header('cache-control', 'public, max-age=300').send(json)
      },
    )
  }

  app.get(
    '/api/oauth/jwks',
    { config, constraints, schema: { tags: ['OAuth'], summary: 'Keys of id tokens (RFC 7517)', sends: KEYS } },
    async (_request, reply) => {
      const keys = await app.identity.idTokens.published()
      return reply
        .type('application/json; charset=utf-8')
        .header('cache-control', 'public, max-age=300')
        .send(JSON.stringify({ keys }))
    },
  )
}
