import { domainToASCII } from 'node:url'
import { EmailDomainBlocked } from '../errors.ts'

/**
 * Refuses an address at a blocked domain, or at a subdomain of one.
 *
 * @param email normalised (profile.ts)
 * @param blocked `auth.blockedEmailDomains`
 * @throws EmailDomainBlocked
 */
export function mustNotBeBlocked(email: string, blocked: readonly string[]): void {
  const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase()
  const isBlocked = blocked.some((entry) => {
    const name = domainToASCII(entry)
    return domain === name || domain.endsWith(`.${name}`)
  })
  if (!isBlocked) return
  const error = new EmailDomainBlocked(domain)
  throw error.with({ details: [{ path: 'email', message: error.message }] })
}
