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

/** The names of one cookie of a game. */
export interface CookieNames {
  /** The name that is set. */
  name: string
  /** The name that earlier versions set where games share their cookies. It is read until those cookies have expired, and never set. */
  former: string | null
}

/**
 * Returns the names of a cookie. On https `__Host-` keeps other hosts of the same domain from setting it. The name
 * contains the beginning of the client id where games share their cookies: below paths of one origin, and on plain http,
 * since cookies ignore ports.
 *
 * @param suffix distinguishes cookies of one purpose
 */
export function cookieNames(
  { origin, path, clientId }: { origin: string; path: string; clientId: string },
  purpose: 'session' | 'state',
  suffix = '',
): CookieNames {
  const secure = origin.startsWith('https:')
  const name = `${secure ? '__Host-' : ''}service_${purpose}`
  if (secure && path === '') return { name: name + suffix, former: null }
  const game = clientId
    .replace(/^svc_client_/, '')
    .replace(/[^\w-]/g, '')
    .slice(0, 8)
  return { name: `${name}_${game}${suffix}`, former: name + suffix }
}

/** In a frame of another site, browsers accept only partitioned cookies and drop a plain `SameSite=None`. */
const PARTITIONED = 'SameSite=None; Secure; Partitioned'
const PLAIN = 'SameSite=Lax'
const attributesFor = ({ secure, framed, loopback }: CookieSite): string =>
  secure || (framed && loopback) ? PARTITIONED : PLAIN

/** Builds a `Set-Cookie` header. */
export const setCookie = (site: CookieSite, name: string, value: string, seconds: number): string =>
  `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; ${attributesFor(site)}`

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
    .map((form) => `${name}=; Path=/; Max-Age=0; HttpOnly; ${form}`)
}

/**
 * Returns all values of a cookie in a request, because another host of the same domain may have added a second one: those
 * of its name, else those of its former name.
 */
export function valuesOf(headers: Headers, { name, former }: CookieNames): string[] {
  const values = cookieValues(headers, name)
  return values.length > 0 || former === null ? values : cookieValues(headers, former)
}

export function cookieValues(headers: Headers, name: string): string[] {
  return (headers.get('cookie') ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1))
}
