import { parseAddress } from './address.ts'

const LONGEST = 2048

/**
 * Returns the path of the game to go to after signing in or out. A value that a browser could read as another origin
 * (`//host`, `/\host`, control characters that URL parsers skip) becomes the first page of the game.
 *
 * @param game its origin, and the path below which it is there
 */
export function returnPath(wanted: string | null, { origin, path }: { origin: string; path: string }): string {
  const home = `${path}/`
  if (wanted === null || wanted.length > LONGEST || !/^\/(?![/\\])[^\\\p{Cc}]*$/u.test(wanted)) return home
  const url = parseAddress(wanted, origin)
  // Dot segments may resolve to a path with two leading slashes, which names a host in a Location header.
  if (!url || url.origin !== origin || url.pathname.startsWith('//')) return home
  return /\/auth\/service\//.test(`${url.pathname}/`) ? home : url.pathname + url.search + url.hash
}
