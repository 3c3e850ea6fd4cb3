import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import Type, { type TProperties, type TSchema } from 'typebox'
import { type ErrorDetail, isPlatformError } from '../../../core/errors.ts'
import { sentenceOf, validationDetails } from '../../../core/http/forms/validation-messages.ts'
import { callerAddress } from '../../../core/http/rate-limit.ts'
import type { OAuthClient } from '../apps/client.ts'
import { authenticateClient, readClientCredentials } from './client-authentication.ts'
import { allowPageOf, answerPreflights } from './cors.ts'
import { OAuthError, type OAuthErrorCode } from './errors.ts'
import { type Parameters, readParameters } from './parameters.ts'

const FORM = 'application/x-www-form-urlencoded'

/** The schema of a form parameter. Validation refuses longer ones before any handler reads them. */
export const Parameter = (description?: string, maxLength = 2000) =>
  Type.Optional(Type.String({ maxLength, ...(description ? { description } : {}) }))

interface ClientEndpoint {
  url: string
  summary: string
  /** The parameters other than the client's credentials. */
  parameters: TProperties
  response: TSchema
  /** Whether pages may call it too: for public clients, from the origins of their redirect URIs. */
  fromPages?: boolean
  handle(call: {
    form: Parameters
    client: OAuthClient
    request: FastifyRequest
    reply: FastifyReply
  }): Promise<unknown>
}

/**
 * Registers an endpoint that applications call with a form and their credentials (RFC 6749 section 3.2, and other RFCs
 * that follow it). It runs the common steps, then `handle`.
 */
export function clientEndpoint(app: FastifyInstance, endpoint: ClientEndpoint) {
  const { url, summary, parameters, response, fromPages = false, handle } = endpoint
  const { identity, rateLimiter } = app
  const count = (key: string) => rateLimiter.take(`oauth-token/${key}`, identity.limits.tokenRequestsPerMinute, 60_000)
  const body = Type.Object(
    { ...parameters, client_id: Parameter(), client_secret: Parameter() },
    { additionalProperties: true }, // unknown parameters are ignored (RFC 6749 section 3.2)
  )
  if (fromPages) answerPreflights(app, url)
  app.post(
    url,
    {
      config: { auth: 'none' },
      constraints: { origin: 'portal' },
      schema: { tags: ['OAuth'], summary, consumes: [FORM], body, response: { 200: response } },
      onRequest: async (request, reply) => {
        if (fromPages) reply.header('vary', 'Origin')
        mustBeForm(request)
      },
      errorHandler: sendOAuthError('invalid_request'),
    },
    async (request, reply) => {
      // 1. Read the parameters; each may occur once.
      const form = readParameters(request.body)
      // 2. Authenticate the client. Failed attempts have a separate limit, so that they can't block the real client.
      const credentials = readClientCredentials(request.headers.authorization, form)
      const named = await identity.findClient(credentials.clientId)
      if (fromPages && named) allowPageOf(named, identity.pageOrigins, request, reply)
      const client = await authenticateClient(named, credentials, identity.apps).catch(async (error) => {
        await count(`failed/${credentials.clientId.slice(0, 60)}/${callerAddress(request)}`)
        throw error
      })
      // Anybody can use a public client's id, so its limit is per address. Otherwise one caller could exhaust it for
      // all.
      await count(client.publicClient ? `${client.clientId}/${callerAddress(request)}` : client.clientId)
      // 3. Handle the request of this endpoint.
      reply.header('cache-control', 'no-store').header('pragma', 'no-cache')
      return handle({ form, client, request, reply })
    },
  )
}

/** Returns a required parameter. @throws OAuthError */
export function required(form: Parameters, name: string): string {
  const value = form[name]
  if (value === undefined) throw new OAuthError('invalid_request', `The ${name} is missing.`)
  return value
}

function mustBeForm(request: FastifyRequest): void {
  const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  if (type !== FORM) throw new OAuthError('invalid_request', `Send the parameters as ${FORM}.`, 415)
}

/**
 * Converts every error to the format of RFC 6749 section 5.2.
 *
 * @param malformed the code of a request that does not match its schema
 */
export const sendOAuthError =
  (malformed: OAuthErrorCode) =>
  (error: FastifyError | OAuthError, request: FastifyRequest, reply: FastifyReply): void => {
    const known = translate(error, request, malformed)
    reply
      .code(known.status)
      .headers(known.headers)
      .header('cache-control', 'no-store')
      .header('pragma', 'no-cache')
      .type('application/json; charset=utf-8')
      .send(JSON.stringify({ error: known.error, error_description: known.message }))
  }

function translate(error: FastifyError | OAuthError, request: FastifyRequest, malformed: OAuthErrorCode): OAuthError {
  if (error instanceof OAuthError) return error
  if ('validation' in error && error.validation) {
    const [first] = validationDetails(error) as [ErrorDetail]
    return new OAuthError(malformed, `The parameter ${sentenceOf(first)}`)
  }
  const status = error.statusCode ?? 500
  const headers = (isPlatformError(error) && error.headers) || {}
  if (status === 429) return new OAuthError('temporarily_unavailable', error.message, 429, headers)
  if (status < 500) return new OAuthError(malformed, error.message, status, headers)
  request.log.error({ err: error }, 'request failed')
  return new OAuthError('server_error', `The log has it under request ${request.id}.`, status)
}
