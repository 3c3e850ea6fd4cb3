import Type from 'typebox'
import { callerAddress } from '../../../core/http/rate-limit.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { sendOAuthError } from './client-endpoint.ts'

const HOUR_MS = 3_600_000
/** 20 redirect URIs of 2,000 characters, and the other fields. */
const LONGEST_BYTES = 49_152
const Text = (maxLength: number) => Type.Optional(Type.String({ maxLength }))
const Names = Type.Optional(Type.Array(Type.String({ maxLength: 100 }), { maxItems: 20 }))

/** The metadata that counts here. Other fields of RFC 7591 are ignored, as it says. */
const Registration = Type.Object(
  {
    redirect_uris: Type.Array(Type.String({ maxLength: 2000 }), { minItems: 1, maxItems: 20 }),
    client_name: Text(500),
    client_uri: Text(2000),
    grant_types: Names,
    response_types: Names,
    token_endpoint_auth_method: Text(100),
    id_token_signed_response_alg: Text(100),
    scope: Text(1000),
  },
  { additionalProperties: true },
)

const Registered = Type.Object({
  client_id: Type.String(),
  client_id_issued_at: Type.Integer(),
  client_name: Type.String(),
  client_uri: Type.Optional(Type.String()),
  redirect_uris: Type.Array(Type.String()),
  grant_types: Type.Array(Type.String()),
  response_types: Type.Array(Type.String()),
  token_endpoint_auth_method: Type.Literal('none'),
  id_token_signed_response_alg: Type.String(),
})

/** Dynamic client registration (RFC 7591) of public clients, for protected resources only. */
export const registerRoutes: Routes = async (app) => {
  const { identity, rateLimiter } = app
  if (identity.oauth.registration === 'off') return
  app.post(
    '/api/oauth/register',
    {
      config: { auth: 'none' },
      constraints: { origin: 'portal' },
      bodyLimit: LONGEST_BYTES,
      schema: {
        tags: ['OAuth'],
        summary: 'Register a public client automatically (RFC 7591), such as a coding assistant',
        description:
          'Such a client may ask for the resource of coding assistants only, and the player is asked each time. One that nobody has allowed is deleted after a day.',
        body: Registration,
        response: { 201: Registered },
      },
      errorHandler: sendOAuthError('invalid_client_metadata'),
    },
    async (request, reply) => {
      const { registrationsPerHour } = identity.limits
      await rateLimiter.take(`oauth-register/${callerAddress(request)}`, registrationsPerHour, HOUR_MS)
      const { clientId, name, homepageUrl, redirectUris, idTokenAlgorithm, issuedAt } =
        await identity.registrations.register(request.body)
      reply.code(201).header('cache-control', 'no-store')
      return {
        client_id: clientId,
        client_id_issued_at: Math.floor(issuedAt.getTime() / 1000),
        client_name: name,
        ...(homepageUrl ? { client_uri: homepageUrl } : {}),
        redirect_uris: redirectUris,
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none' as const,
        id_token_signed_response_alg: idTokenAlgorithm,
      }
    },
  )
}
