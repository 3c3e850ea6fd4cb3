import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { isPlatformError } from '../../../core/errors.ts'
import type { Routes } from '../../../core/routes.ts'
import { validationDetails } from '../../../core/validation.ts'
import { ACCESS_TOKEN_SECONDS } from './access-tokens.ts'
import { authenticateClient, readClientCredentials } from './client-authentication.ts'
import { OAuthError } from './errors.ts'
import { readParameters } from './parameters.ts'
import { OAuthUser, userOf } from './user.ts'

const FORM = 'application/x-www-form-urlencoded'

const TokenBody = Type.Object(
  {
    grant_type: Type.Optional(Type.String({ description: 'authorization_code' })),
    code: Type.Optional(Type.String({ maxLength: 1000 })),
    redirect_uri: Type.Optional(Type.String({ maxLength: 2000 })),
    code_verifier: Type.Optional(Type.String({ maxLength: 1000, description: 'PKCE, RFC 7636.' })),
    client_id: Type.Optional(Type.String({ maxLength: 1000 })),
    client_secret: Type.Optional(Type.String({ maxLength: 1000 })),
  },
  { additionalProperties: true }, // parameters that are not known are ignored (RFC 6749 section 3.2)
)

const TokenResponse = Type.Object({
  access_token: Type.String(),
  token_type: Type.Literal('Bearer'),
  expires_in: Type.Integer({ description: 'Seconds.' }),
  scope: Type.String(),
  user: OAuthUser,
})

/** The token endpoint (RFC 6749 section 3.2), for the authorization code grant. */
export const tokenRoutes: Routes = async (app) => {
  const { identity, rateLimiter } = app

  app.post(
    '/api/oauth/token',
    {
      config: { auth: 'none' },
      constraints: { origin: 'portal' },
      schema: {
        tags: ['OAuth'],
        summary: 'Exchange an authorization code for an access token',
        consumes: [FORM],
        body: TokenBody,
        response: { 200: TokenResponse },
      },
      onRequest: async (request) => mustBeForm(request),
      errorHandler: sendOAuthError,
    },
    async (request, reply) => {
      // 1. The parameters, each once.
      const form = readParameters(request.body)
      // 2. The client. Whoever can't prove to be one is counted apart, so as not to shut the real one out.
      const credentials = readClientCredentials(request.headers.authorization, form)
      const count = (key: string) =>
        rateLimiter.take(`oauth-token/${key}`, identity.limits.tokenRequestsPerMinute, 60_000)
      const client = await authenticateClient(credentials, identity.apps).catch(async (error) => {
        await count(`unproven/${credentials.clientId.slice(0, 60)}/${request.ip}`)
        throw error
      })
      await count(client.publicClient ? `${client.clientId}/${request.ip}` : client.clientId)
      // 3. The grant.
      if (form.grant_type === undefined) throw new OAuthError('invalid_request', 'The grant_type is missing.')
      if (form.grant_type !== 'authorization_code') {
        throw new OAuthError('unsupported_grant_type', 'The only grant_type is authorization_code.')
      }
      // 4. The code, and what it is bound to.
      const { code, redirect_uri: redirectUri, code_verifier: codeVerifier } = form
      if (code === undefined) throw new OAuthError('invalid_request', 'The code is missing.')
      if (redirectUri === undefined) throw new OAuthError('invalid_request', 'The redirect_uri is missing.')
      const grant = await identity.codes.exchange({ clientId: client.clientId, code, redirectUri, codeVerifier })
      // 5. The answer.
      await identity.apps.noteUse(client)
      reply.header('cache-control', 'no-store').header('pragma', 'no-cache')
      return {
        access_token: grant.accessToken,
        token_type: 'Bearer' as const,
        expires_in: ACCESS_TOKEN_SECONDS,
        scope: grant.scope.join(' '),
        user: userOf(grant.player, new Set(grant.scope)),
      }
    },
  )
}

function mustBeForm(request: FastifyRequest): void {
  const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  if (type !== FORM) throw new OAuthError('invalid_request', `Send the parameters as ${FORM}.`, 415)
}

/** Whatever goes wrong, in the shape of RFC 6749 section 5.2. */
function sendOAuthError(error: FastifyError | OAuthError, request: FastifyRequest, reply: FastifyReply): void {
  const known = translate(error, request)
  reply
    .code(known.status)
    .headers(known.headers)
    .header('cache-control', 'no-store')
    .header('pragma', 'no-cache')
    .type('application/json; charset=utf-8')
    .send(JSON.stringify({ error: known.error, error_description: known.message }))
}

function translate(error: FastifyError | OAuthError, request: FastifyRequest): OAuthError {
  if (error instanceof OAuthError) return error
  if ('validation' in error && error.validation) {
    const [first] = validationDetails(error)
    return new OAuthError('invalid_request', `The parameter ${first?.path} ${first?.message}.`)
  }
  const status = error.statusCode ?? 500
  const headers = (isPlatformError(error) && error.headers) || {}
  if (status === 429) return new OAuthError('temporarily_unavailable', error.message, 429, headers)
  if (status < 500) return new OAuthError('invalid_request', error.message, status, headers)
  request.log.error({ err: error }, 'request failed')
  return new OAuthError('server_error', `The log has it under request ${request.id}.`, status)
}
