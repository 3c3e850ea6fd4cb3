/** The longest way back. It is percent-encoded again in addresses and forms, which have 16 KiB. */
const LONGEST = 4096

/**
 * Returns the path that a browser is sent back to, for example after a sign-in: the wanted one, normalised, if it is on
 * this origin, otherwise `/`. Without this check a link to our own site could lead to another one, whose page people
 * would trust because of the link.
 *
 * A browser reads `//host` and `/\host` as another host, also when they only arise from dot segments (`/.//host`), and it
 * drops tabs and line breaks before it reads an address. A path of more than 4,096 characters counts as another site's.
 *
 * @param wanted from a query, a form or a cookie
 * @param origin of the site
 */
export function returnPath(wanted: unknown, origin: string): string {
  if (typeof wanted !== 'string' || !/^\/(?![/\\])[^\\\p{Cc}]*$/u.test(wanted)) return '/'
  const url = URL.parse(wanted, origin)
  if (!url || url.origin !== new URL(origin).origin || url.pathname.startsWith('//')) return '/'
  const path = url.pathname + url.search + url.hash
  return path.length > LONGEST ? '/' : path
}
