import type { Apps } from '../apps/apps.ts'
import type { OAuthClient } from '../apps/client.ts'
import { OAuthError } from './errors.ts'
import type { Parameters } from './parameters.ts'

/** The client id that was sent, and the secret if one was sent. */
export interface ClientCredentials {
  clientId: string
  secret: string | undefined
}

/**
 * Reads the credentials of a client from the Basic header or the form, but never from both (RFC 6749 section 2.3).
 *
 * @throws OAuthError
 */
export function readClientCredentials(authorization: string | undefined, form: Parameters): ClientCredentials {
  if (authorization === undefined) {
    if (form.client_id === undefined) throw invalidClient()
    return { clientId: form.client_id, secret: form.client_secret }
  }
  const basic = readBasic(authorization)
  if (!basic) throw invalidClient()
  if (form.client_secret !== undefined) {
    throw new OAuthError('invalid_request', 'The client authenticates in two ways at once.')
  }
  if (form.client_id !== undefined && form.client_id !== basic.clientId) {
    throw new OAuthError('invalid_request', 'The client_id is not the one of the Authorization header.')
  }
  return basic
}

/**
 * Authenticates the named client.
 *
 * @throws OAuthError `invalid_client`, the same for an unknown client and a wrong secret
 */
export async function authenticateClient(
  client: OAuthClient | null,
  { secret }: ClientCredentials,
  apps: Apps,
): Promise<OAuthClient> {
  const proven = client?.publicClient ? secret === undefined : apps.hasSecret(client, secret ?? '')
  if (!client || !proven) throw invalidClient()
  return client
}

/** Parses a Basic header (RFC 7617) whose parts are both form-encoded (RFC 6749 section 2.3.1). */
function readBasic(header: string): ClientCredentials | null {
  const encoded = /^Basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(header)?.[1]
  if (!encoded) return null
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  if (colon < 1) return null
  try {
    const decode = (part: string) => decodeURIComponent(part.replaceAll('+', ' '))
    return { clientId: decode(text.slice(0, colon)), secret: decode(text.slice(colon + 1)) || undefined }
  } catch {
    return null
  }
}

/** The error is the same for an unknown client and a wrong secret. */
export const invalidClient = () =>
  new OAuthError('invalid_client', 'The client is not known or its secret is wrong.', 401, {
    'www-authenticate': 'Basic realm="oauth"',
  })
