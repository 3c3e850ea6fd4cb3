/**
 * Returns the path on the portal to go to after signing in, or the start page for any other value. A redirect to
 * another site from here would help phishing, since users trust the portal's name.
 */
export function safeReturnTo(returnTo: unknown, portalUrl: string): string {
  if (typeof returnTo !== 'string' || !/^\/(?![/\\])[^\\\p{Cc}]*$/u.test(returnTo)) return '/'
  if (!URL.canParse(returnTo, portalUrl)) return '/'
  const url = new URL(returnTo, portalUrl)
  // Dot segments may have resolved to a path of two slashes, which is another host.
  return url.origin === portalUrl && !url.pathname.startsWith('//') ? `${url.pathname}${url.search}${url.hash}` : '/'
}
