import { corsHeaders } from '../../../core/http/cors.ts'
import type { AssetRecord } from '../record.ts'

/**
 * Where the request for an asset arrives: hot-linked from the Studio's origin, through a game's own origin, or from a
 * page of the portal.
 */
export type Surface = 'studio' | 'proxy' | 'page'

const PUBLIC = 'public, max-age=86400'
const CURATED = 'public, max-age=31536000, immutable'

/** Scripts of every origin may read public assets. The browser sends no credentials. */
export const cors = { expose: ['X-Service-Variant', 'ETag', 'Content-Length', 'Content-Range', 'Accept-Ranges'] }
const CORS = corsHeaders(cors)

/** The response to a preflight, which allows only reads. */
export const PREFLIGHT = {
  'access-control-allow-methods': 'GET, HEAD, OPTIONS',
  'access-control-allow-headers': 'Authorization, Range, If-Range, If-None-Match',
  'access-control-max-age': '86400',
}

/**
 * Returns the `Cache-Control` of the specification. A curated pack never changes, so its files may be cached
 * permanently.
 */
export function cachingOf(asset: Pick<AssetRecord, 'visibility' | 'curated' | 'kind'>, door: Surface): string {
  if (asset.visibility === 'private') return 'private, no-store'
  return asset.curated && asset.kind === 'pack' && door !== 'proxy' ? CURATED : PUBLIC
}

/**
 * Headers of an asset's bytes, as pairs for `writeHead`; the entity tag, length and range are added. The files are
 * untrusted: whatever type a browser assumes, nothing in them runs.
 *
 * @param shared whether scripts of other origins may read it: public ones, and private ones whose owner sent a token
 */
export function headersOf(
  asset: AssetRecord,
  { contentType, name, variant }: { contentType: string; name: string; variant: string | null },
  { door, shared }: { door: Surface; shared: boolean },
): string[] {
  const displays = /^(?:image|audio|video|model)\//.test(contentType)
  return [
    'content-type',
    contentType,
    'cache-control',
    cachingOf(asset, door),
    'x-content-type-options',
    'nosniff',
    'content-security-policy',
    "sandbox; default-src 'none'",
    'accept-ranges',
    'bytes',
    'content-disposition',
    disposition(displays ? 'inline' : 'attachment', name),
    ...(variant === null ? [] : ['x-service-variant', variant]),
    ...(shared ? Object.entries(CORS).flat() : ['cross-origin-resource-policy', 'same-origin']),
  ]
}

/** Builds the header of RFC 6266: an ASCII name for old clients, and the real one for others. */
function disposition(kind: 'inline' | 'attachment', name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  const encoded = encodeURIComponent(name).replace(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)
  return `${kind}; filename="${plain}"${plain === name ? '' : `; filename*=UTF-8''${encoded}`}`
}
