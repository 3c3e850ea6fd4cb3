/** The names of one cookie at one address. */
export interface CookieNames {
  /** The name that is set. */
  name: string
  /** The name that earlier versions set on http. It is read until those cookies have expired, and never set. */
  former: string | null
}

/**
 * Returns the names of a cookie. Cookies ignore ports: on plain http, where `__Host-` is not available either, the name
 * contains the port. Other servers at this host name then neither replace the cookie, nor lose their own.
 *
 * @param origin of the site that sets the cookie
 * @param http the purpose, for the name on http: `gameyard_<http>_<port>`
 * @param https the whole name on https
 * @param former the name on http in earlier versions. Default: that on https without `__Host-`
 */
export function cookieNamesAt(
  origin: string,
  { http, https, former = https.replace(/^__Host-/, '') }: { http: string; https: string; former?: string },
): CookieNames {
  if (origin.startsWith('https:')) return { name: https, former: null }
  // Each request comes here, and `new URL` takes as long as reading the cookie.
  const port = /:(\d+)$/.exec(origin)?.[1] ?? '80'
  return { name: `gameyard_${http}_${port}`, former }
}

/**
 * Lists all values of a cookie in a Cookie header: those of its name, else those of its former name. More than one means
 * that another host of the domain set it too.
 */
export function valuesOf(header: string | undefined, { name, former }: CookieNames): string[] {
  const values = cookieValues(header, name)
  return values.length > 0 || former === null ? values : cookieValues(header, former)
}

/** Lists the names of the cookies in a Cookie header. */
export function cookieNames(header: string | undefined): string[] {
  const names = header?.split(';').map((pair) => pair.slice(0, Math.max(pair.indexOf('='), 0)).trim())
  return [...new Set(names)].filter((name) => name !== '')
}

/** Lists all values of a cookie in a Cookie header. More than one means that another host of the domain set it too. */
export function cookieValues(header: string | undefined, name: string): string[] {
  if (!header?.includes(name)) return []
  const values: string[] = []
  for (const pair of header.split(';')) {
    const cut = pair.indexOf('=')
    if (cut > 0 && pair.slice(0, cut).trim() === name) values.push(pair.slice(cut + 1).trim())
  }
  return values
}
