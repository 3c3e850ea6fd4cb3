const LONGEST = 2048

/**
 * Where to go after signing in or out: a path of the game itself, whatever was asked for. Anything that a browser could
 * read as another origin (`//host`, `/\host`, control characters that URL parsers skip) becomes `/`.
 */
export function returnPath(wanted: unknown, origin: string): string {
  if (typeof wanted !== 'string' || wanted.length > LONGEST || !/^\/(?![/\\])[^\\\p{Cc}]*$/u.test(wanted)) return '/'
  const url = URL.parse(wanted, origin)
  if (!url || url.origin !== new URL(origin).origin) return '/'
  // Dot segments may have resolved to a path of two slashes, which in a Location names a host.
  if (url.pathname.startsWith('//') || url.pathname.startsWith('/auth/service')) return '/'
  return url.pathname + url.search + url.hash
}
