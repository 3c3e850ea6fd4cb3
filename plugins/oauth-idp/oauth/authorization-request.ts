import { InvalidRequest } from '../../../core/errors.ts'
import type { Apps } from '../apps/apps.ts'
import type { OAuthClient } from '../apps/client.ts'
import { OAuthError } from './errors.ts'
import { readParameters, single } from './parameters.ts'
import { readCodeChallenge } from './pkce.ts'
import { type ProtectedResource, type ProtectedResources, readResourceScope } from './resources.ts'
import { readScope } from './scopes.ts'

const LONGEST_NONCE = 500

/** The client and address for the response. A redirect is allowed only when both are verified. */
export interface Recipient {
  client: OAuthClient
  redirectUri: string
  /** Returned unchanged. */
  state: string | undefined
}

/** The requested scopes. */
export interface AuthorizationRequest {
  scope: string[]
  /** The protected resource for which the tokens are; null for the API of games. */
  resource: ProtectedResource | null
  codeChallenge: string | null
  prompt: 'none' | 'login' | 'consent' | null
  /** Copied unchanged to the id token. */
  nonce: string | null
  /** The maximum time since the player's sign-in, in seconds. */
  maxAge: number | null
}

/**
 * Steps 1 and 2 of the authorization endpoint: the client and its redirect URI. An error in either is shown to the
 * player and never redirected (RFC 6749 section 4.1.2.1), and the error page repeats no part of the request.
 *
 * @throws InvalidRequest
 */
export async function readRecipient(
  raw: unknown,
  apps: Pick<Apps, 'accepts'>,
  find: (clientId: string) => Promise<OAuthClient | null>,
): Promise<Recipient> {
  const clientId = single(raw, 'client_id')
  const client = clientId === undefined ? null : await find(clientId)
  if (!client) throw new InvalidRequest('The game or program that sent you here is not registered on this platform.')
  const redirectUri = single(raw, 'redirect_uri')
  if (redirectUri === undefined || !(await apps.accepts(client, redirectUri))) {
    throw new InvalidRequest(
      'The address to return to is not one that this game has registered, so nothing was sent there.',
    )
  }
  return { client, redirectUri, state: single(raw, 'state') }
}

/** Validates the remaining parameters. The error is reported to the client. @throws OAuthError */
export function readAuthorizationRequest(
  raw: unknown,
  { client }: Recipient,
  resources: ProtectedResources,
): AuthorizationRequest {
  const parameters = readParameters(raw)
  if (parameters.request !== undefined)
    throw new OAuthError('request_not_supported', 'There are no request objects here.')
  if (parameters.request_uri !== undefined) {
    throw new OAuthError('request_uri_not_supported', 'There are no request objects here.')
  }
  if (parameters.registration !== undefined) {
    throw new OAuthError('registration_not_supported', 'Applications are registered beforehand.')
  }
  if (parameters.response_type === undefined) throw new OAuthError('invalid_request', 'The response_type is missing.')
  if (parameters.response_type !== 'code') {
    throw new OAuthError('unsupported_response_type', 'The only response_type is code.')
  }
  if (parameters.response_mode !== undefined && parameters.response_mode !== 'query') {
    throw new OAuthError('invalid_request', 'The only response_mode is query.')
  }
  const codeChallenge = readCodeChallenge(parameters, { required: client.publicClient })
  const resource = resources.read(parameters.resource)
  if (client.registration !== null && resource === null) {
    throw new OAuthError('invalid_target', 'A client that registered itself names a protected resource.')
  }
  const scope = resource ? readResourceScope(resource, parameters.scope) : readScope(parameters.scope)
  const nonce = parameters.nonce ?? null
  if (nonce !== null && nonce.length > LONGEST_NONCE) {
    throw new OAuthError('invalid_request', `The nonce is longer than ${LONGEST_NONCE} characters.`)
  }
  return {
    codeChallenge,
    scope,
    resource,
    nonce,
    prompt: readPrompt(parameters.prompt),
    maxAge: readMaxAge(parameters.max_age),
  }
}

function readMaxAge(maxAge: string | undefined): number | null {
  if (maxAge === undefined) return null
  if (!/^\d{1,9}$/.test(maxAge)) throw new OAuthError('invalid_request', 'The max_age is not a number of seconds.')
  return Number(maxAge)
}

/** Parses `prompt` (OpenID Connect Core 3.1.2.1). Selecting an account means signing in with it. */
function readPrompt(prompt: string | undefined): AuthorizationRequest['prompt'] {
  const values = new Set((prompt ?? '').split(' ').filter(Boolean))
  for (const value of values) {
    if (!['none', 'login', 'consent', 'select_account'].includes(value)) {
      throw new OAuthError('invalid_request', 'This prompt is not known.')
    }
  }
  if (values.has('none') && values.size > 1) throw new OAuthError('invalid_request', 'The prompt none stands alone.')
  if (values.has('none')) return 'none'
  if (values.has('login') || values.has('select_account')) return 'login'
  return values.has('consent') ? 'consent' : null
}
