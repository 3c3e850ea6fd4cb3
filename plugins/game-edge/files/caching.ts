import { cacheControl } from '../../../core/http/headers.ts'
import { carriesDigest } from '../../deploy/index.ts'

/**
 * Returns the `Cache-Control` of a game's file. Only a name with a digest is immutable, and only if
 * the game never served another content under it.
 *
 * @param changed the names that had several contents
 */
export function cacheControlOf(path: string, contentType: string, changed: ReadonlySet<string>): string {
  if (contentType.startsWith('text/html')) return cacheControl.document
  return carriesDigest(path) && !changed.has(path) ? cacheControl.immutable : cacheControl.revalidate
}
