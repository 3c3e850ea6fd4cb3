import type { IncomingHttpHeaders } from 'node:http'

/**
 * Whether a page of this origin sent a request, by headers that no page can set. A page whose referrer policy is
 * `no-referrer`, which some proxies add to every answer, sends `Origin: null` with its forms, as a sandboxed page of
 * somebody else does; fetch metadata tells the two apart.
 *
 * @param origin in the form of `URL.origin`
 */
export function isFromPageOf(headers: IncomingHttpHeaders, origin: string): boolean {
  const { origin: from, 'sec-fetch-site': site } = headers
  return from === undefined || from === 'null' ? site === 'same-origin' : from === origin
}
