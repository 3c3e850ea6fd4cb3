import type { IncomingHttpHeaders } from 'node:http'

/** Destinations of requests for a part of a page (Fetch standard, section 2.2.5), which the start page never is. */
const PARTS = new Set([
  'script',
  'style',
  'image',
  'font',
  'audio',
  'video',
  'track',
  'manifest',
  'worker',
  'sharedworker',
  'serviceworker',
])

/**
 * Whether a browser asks for a part of a page, so that a file that is not there is an error and not an address inside of
 * a single-page app. Navigations are none, and neither are programs that send no `Sec-Fetch-Dest`.
 *
 * @param path of the request; a `fetch` is for a part if its last segment has an extension other than `.html`
 */
export function isPartOfPage({ 'sec-fetch-dest': destination }: IncomingHttpHeaders, path: string): boolean {
  if (typeof destination !== 'string') return false
  if (PARTS.has(destination)) return true
  return destination === 'empty' && /\.[^./]+$/.test(path) && !/\.html?$/i.test(path)
}
