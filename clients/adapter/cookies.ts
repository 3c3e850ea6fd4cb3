/** The inputs for a cookie's attributes. */
export interface CookieSite {
  /** Whether the game uses https. */
  secure: boolean
  /** Whether the host is a loopback name, for which browsers accept `Secure` cookies over plain http too. */
  loopback: boolean
  /** Whether the request is a navigation inside a frame, usually the portal's play page. */
  framed: boolean
}

/** @param origin the game's origin from the settings, because a request behind a TLS proxy names http */
export function cookieSite(origin: string, headers: Headers): CookieSite {
  const { protocol, hostname } = new URL(origin)
  return {
    secure: protocol === 'https:',
    loopback: /(^|\.)localhost$/.test(hostname),
    framed: /^i?frame$/.test(headers.get('sec-fetch-dest') ?? ''),
  }
}

/** Adds `__Host-` on https, so that another host of the same domain can't set this cookie. */
export const cookieName = (name: string, secure: boolean): string => (secure ? `__Host-${name}` : name)

/** In a frame of another site, browsers accept only partitioned cookies and drop a plain `SameSite=None`. */
const PARTITIONED = 'SameSite=None; Secure; Partitioned'
const PLAIN = 'SameSite=Lax'
const attributesFor = ({ secure, framed, loopback }: CookieSite): string =>
  secure || (framed && loopback) ? PARTITIONED : PLAIN

/** Builds a `Set-Cookie` header. */
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

/** Returns all values of a cookie in a request, because another host of the same domain may have added a second one. */
export function cookieValues(headers: Headers, name: string): string[] {
  return (headers.get('cookie') ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1))
}
