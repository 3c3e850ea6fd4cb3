import { createHash, timingSafeEqual } from 'node:crypto'
import { OAuthError } from './errors.ts'
import type { Parameters } from './parameters.ts'

/**
 * Reads the code challenge of an authorization request (RFC 7636 section 4.3); null when there is none.
 *
 * @throws OAuthError `invalid_request` for `plain`, which is also the default method and protects nothing, and for a
 *   public client without a challenge
 */
export function readCodeChallenge(parameters: Parameters, { required }: { required: boolean }): string | null {
  const { code_challenge: challenge, code_challenge_method: method } = parameters
  if (challenge === undefined) {
    if (method !== undefined) throw new OAuthError('invalid_request', 'There is a code_challenge_method alone.')
    if (required) throw new OAuthError('invalid_request', 'A public client sends a code_challenge (PKCE).')
    return null
  }
  if (method !== 'S256') throw new OAuthError('invalid_request', 'The code_challenge_method must be S256.')
  if (!/^[A-Za-z0-9_-]{43}$/.test(challenge)) {
    throw new OAuthError('invalid_request', 'The code_challenge is not a SHA-256 digest in base64url.')
  }
  return challenge
}

/** Whether a verifier matches the challenge (section 4.6). A verifier without a challenge is a downgrade. */
export function verifierMatches(verifier: string | undefined, challenge: string | null): boolean {
  if (challenge === null) return verifier === undefined
  if (verifier === undefined || !/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return false
  return timingSafeEqual(Buffer.from(createHash('sha256').update(verifier).digest('base64url')), Buffer.from(challenge))
}
