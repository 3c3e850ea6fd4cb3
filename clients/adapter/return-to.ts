import { parseAddress } from './address.ts'

const LONGEST = 2048

/**
 * Returns the path of the game to go to after signing in or out. A value that a browser could read as another origin
 * (`//host`, `/\host`, control characters that URL parsers skip) becomes `/`.
 */
export function returnPath(wanted: string | null, origin: string): string {
  if (wanted === null || wanted.length > LONGEST || !/^\/(?![/\\])[^\\\p{Cc}]*$/u.test(wanted)) return '/'
  const url = parseAddress(wanted, origin)
  // Dot segments may resolve to a path with two leading slashes, which names a host in a Location header.
  if (!url || url.origin !== origin || url.pathname.startsWith('//')) return '/'
  return /\/auth\/service\//.test(`${url.pathname}/`) ? '/' : url.pathname + url.search + url.hash
}
