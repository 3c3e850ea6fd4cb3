const LONGEST = 2048

/**
 * Returns the path of the game to go to after signing in or out. A value that a browser could read as another origin
 * (`//host`, `/\host`, control characters that URL parsers skip) becomes `/`.
 */
export function returnPath(wanted: unknown, origin: string): string {
  if (typeof wanted !== 'string' || wanted.length > LONGEST || !/^\/(?![/\\])[^\\\p{Cc}]*$/u.test(wanted)) return '/'
  const url = URL.parse(wanted, origin)
  if (!url || url.origin !== new URL(origin).origin) return '/'
  // Dot segments may have resolved to a path of two slashes, which in a Location names a host.
  if (url.pathname.startsWith('//') || url.pathname.startsWith('/auth/service')) return '/'
  return url.pathname + url.search + url.hash
}
