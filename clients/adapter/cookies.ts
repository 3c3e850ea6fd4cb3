/** The inputs for a cookie's attributes. */
export interface CookieSite {
  /** The game is reached over https. */
  secure: boolean
  /** Browsers take `Secure` cookies over plain http there too. */
  loopback: boolean
  /** The request is a navigation inside a frame: of the portal's play page, as a rule. */
  framed: boolean
}

/** @param origin of the game, from the settings: behind a TLS proxy the request itself would say http */
export function cookieSite(origin: string, headers: Headers): CookieSite {
  const { protocol, hostname } = new URL(origin)
  return {
    secure: protocol === 'https:',
    loopback: /(^|\.)localhost$/.test(hostname),
    framed: /^i?frame$/.test(headers.get('sec-fetch-dest') ?? ''),
  }
}

/** `__Host-` wherever browsers take it: a neighbour under the same domain can't set such a cookie for us. */
export const cookieName = (name: string, secure: boolean): string => (secure ? `__Host-${name}` : name)

/** Frames of another site are given nothing but partitioned cookies; `SameSite=None` alone is dropped there. */
const PARTITIONED = 'SameSite=None; Secure; Partitioned'
const PLAIN = 'SameSite=Lax'
const attributesFor = ({ secure, framed, loopback }: CookieSite): string =>
  secure || (framed && loopback) ? PARTITIONED : PLAIN

/** A `Set-Cookie` header. */
export const setCookie = (site: CookieSite, name: string, value: string, seconds: number): string =>
  `${cookieName(name, site.secure)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; ${attributesFor(site)}`

/**
 * Returns the `Set-Cookie` headers that remove a cookie in every form in which it may have been set.
 *
 * @param except the form just set: setting one form removes the other one, since two session cookies count as signed
 *   out
 */
export function clearCookie(site: CookieSite, name: string, except?: 'current'): string[] {
  const forms = site.secure ? [PARTITIONED] : site.loopback ? [PLAIN, PARTITIONED] : [PLAIN]
  return forms
    .filter((form) => except === undefined || form !== attributesFor(site))
    .map((form) => `${cookieName(name, site.secure)}=; Path=/; Max-Age=0; HttpOnly; ${form}`)
}

/** Every value that a cookie of this name has in a request: a neighbour may have put a second one before ours. */
export function cookieValues(headers: Headers, name: string): string[] {
  return (headers.get('cookie') ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1))
}
