import { InvalidRequest } from '../../../core/errors.ts'

/**
 * Converts the path of a request to a path of a manifest: decoded, without the leading slash and the query.
 *
 * Slashes that follow each other are one, as in a folder. It is looked up in a table and never becomes a path on disk. A path that no manifest can contain is not found.
 *
 * @throws InvalidRequest when the percent-encoding is malformed
 */
export function manifestPath(url: string): string {
  const query = url.indexOf('?')
  const path = mergeSlashes(query === -1 ? url : url.slice(0, query)).slice(1)
  if (!path.includes('%')) return path
  try {
    return decodeURIComponent(path).normalize('NFC')
  } catch {
    throw new InvalidRequest('The address is not well-formed: a percent sign is not followed by a valid encoding.')
  }
}

/** Merges slashes that follow each other, which would also make an address of another host in a redirect. */
export const mergeSlashes = (path: string): string => (path.includes('//') ? path.replace(/\/{2,}/g, '/') : path)

/** Whether a path is reserved for the platform on every game's origin. */
export const isReserved = (path: string): boolean => /^(?:auth\/service|mp|__service)(?:\/|$)/.test(path)

/** Does the same as `isReserved` for the raw path of an address. An invalid path is not reserved. */
export function pathIsReserved(path: string): boolean {
  try {
    return isReserved(decodeURIComponent(mergeSlashes(path)).slice(1))
  } catch {
    return false
  }
}

/** Returns the candidate files of a path in order of preference. */
export function candidates(path: string): string[] {
  if (path === '') return ['index.html']
  return path.endsWith('/') ? [`${path}index.html`, 'index.html'] : [path, `${path}/index.html`, 'index.html']
}
