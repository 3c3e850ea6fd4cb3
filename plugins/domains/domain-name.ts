import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import { InvalidRequest } from '../../core/errors.ts'
import type { Origins } from '../../core/origins/origins.ts'
import { DomainReserved } from './errors.ts'

/** A domain in stored form: lower case, in ASCII (RFC 5890), without a trailing dot. */
export interface DomainName {
  name: string
  /** Whether it is a registered domain (`example.com`) rather than a subdomain. The DNS allows no CNAME there. */
  isApex: boolean
}

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
/** The maximum length. With the prefix `_gameyard.` it must fit into 253 characters (RFC 1035 section 2.3.4). */
const LONGEST = 243
/** Names that the public DNS does not resolve (RFC 6761, 7686, 9476). */
const SPECIAL = new Set(['localhost', 'local', 'invalid', 'onion', 'arpa', 'alt'])

/**
 * Parses a domain that a player typed for a game.
 *
 * @param sameSite whether a name that shares its registered domain with the portal is allowed (`games.allowSameSite`)
 * @throws InvalidRequest for an invalid domain name
 * @throws DomainReserved for a name of the platform, a public suffix, or one whose pages could access the portal's
 *   cookies
 */
export async function readDomainName(typed: string, origins: Origins, sameSite: boolean): Promise<DomainName> {
  const name = asciiOf(typed)
  const last = name.slice(name.lastIndexOf('.') + 1)
  if (SPECIAL.has(last)) throw new DomainReserved(`No public DNS knows names that end in .${last}.`)
  if (origins.owns(name)) throw new DomainReserved(`The domain ${name} is the platform's own.`)
  // The list of public suffixes (publicsuffix.org) is loaded on demand.
  const { getDomain } = await import('tldts')
  const registered = (host: string) => getDomain(host, { allowPrivateDomains: true })
  const domain = registered(name)
  if (domain === null) throw new DomainReserved(`Domains are registered below ${name}; it is nobody's own.`)
  const neighbours = [origins.portal, origins.studio].map((url) => registered(new URL(url).hostname))
  if (!sameSite && neighbours.includes(domain)) {
    throw new DomainReserved(`A game at ${name} could touch the cookies of the portal; use a domain beside ${domain}.`)
  }
  return { name, isApex: name === domain }
}

/** Returns a name in normal form for lookups, or null: an invalid name counts as unknown. */
export function plainName(typed: string): string | null {
  try {
    return asciiOf(typed)
  } catch {
    return null
  }
}

function asciiOf(typed: string): string {
  const text = typed.trim()
  if (text.includes('*')) throw refused('Name each domain: a wildcard stands for names that nobody has proved.')
  if (/[\s/:@?#%\\[\]]/.test(text))
    throw refused('Give the name alone, such as play.example.com, without https://, port or path.')
  const name = domainToASCII(text.replace(/\.$/, ''))
  if (isIP(name)) throw refused('This is an address; a domain is a name, such as play.example.com.')
  const labels = name.split('.')
  const sound = labels.length > 1 && name.length <= LONGEST && labels.every((label) => LABEL.test(label))
  if (!sound || /^[0-9]+$/.test(labels.at(-1) as string))
    throw refused('This is no domain name, such as play.example.com.')
  return name
}

const refused = (message: string) => new InvalidRequest(message).with({ details: [{ path: 'name', message }] })
