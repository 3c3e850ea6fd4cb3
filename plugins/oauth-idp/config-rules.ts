import type { Config } from '../../core/config.ts'
import { StartupError } from '../../core/errors.ts'
import type { AuthConfig } from './config.ts'
import { needsIssuer } from './upstream/providers.ts'

/**
 * Checks what the schema of `auth` can't say.
 *
 * @throws StartupError
 */
export function checkAuthConfig({ providers, signUpChallenge }: AuthConfig, { portal }: Pick<Config, 'portal'>): void {
  for (const [name, { issuer }] of Object.entries(providers))
    if (issuer === undefined && needsIssuer(name))
      throw new StartupError(`auth.providers.${name}: give the issuer, such as https://login.example.org.`)
  if (signUpChallenge === 'work' && !isSecureContext(portal.url))
    throw new StartupError(
      'auth.signUpChallenge: work needs a portal.url with https (or localhost), where browsers compute it. Use none on plain http.',
    )
}

/** Whether browsers offer Web Crypto at an origin. */
function isSecureContext(origin: string): boolean {
  const { protocol, hostname } = new URL(origin)
  return protocol === 'https:' || /(^|\.)localhost$|^127\./.test(hostname)
}
