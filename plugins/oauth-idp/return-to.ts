/**
 * Where to go after signing in: a path on the portal, or the start page when what was asked for is anything else. An
 * address of another site here would make the portal lend its name to a phisher.
 */
export function safeReturnTo(returnTo: unknown, portalUrl: string): string {
  if (typeof returnTo !== 'string' || !/^\/(?![/\\])[^\\\p{Cc}]*$/u.test(returnTo)) return '/'
  if (!URL.canParse(returnTo, portalUrl)) return '/'
  const url = new URL(returnTo, portalUrl)
  return url.origin === portalUrl ? `${url.pathname}${url.search}${url.hash}` : '/'
}
