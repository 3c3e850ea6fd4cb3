import { OAuthError } from './errors.ts'

/** Parsed parameters of a query or form. A repeated parameter is an array. */
export type RawParameters = Record<string, string | string[] | undefined>
export type Parameters = Record<string, string | undefined>

/**
 * Parses request parameters by the rules of OAuth: a parameter without a value counts as not sent, and each may occur
 * once (RFC 6749 section 3.1 and 3.2).
 *
 * @throws OAuthError `invalid_request` for one that was sent twice
 */
export function readParameters(raw: unknown): Parameters {
  const parameters: Parameters = {}
  for (const [name, value] of Object.entries((raw ?? {}) as RawParameters)) {
    if (Array.isArray(value)) throw new OAuthError('invalid_request', 'A parameter was sent more than once.')
    if (value !== '') parameters[name] = value
  }
  return parameters
}

/** Reads one parameter before the others are validated; undefined when it is repeated. */
export function single(raw: unknown, name: string): string | undefined {
  const value = ((raw ?? {}) as RawParameters)[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}
