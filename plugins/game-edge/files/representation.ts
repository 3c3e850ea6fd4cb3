import mime from 'mime'
import { mediaTypeOf } from '../../deploy/index.ts'
import type { Game } from '../../games/index.ts'
import { cacheControlOf } from './caching.ts'
import type { Coding } from './codings.ts'

/** The headers and properties of a deploy's file, without its bytes. */
export interface Representation {
  contentType: string
  encoding: 'br' | 'gzip' | null
  cacheControl: string
  /** Whether it is an HTML document that may get the widget's script tag. */
  isDocument: boolean
}

const ENCODINGS = { br: 'br', gz: 'gzip' } as const

/**
 * Determines the headers of a file from its name and type.
 *
 * Unity and Godot upload `game.wasm.br` and have the page request that name. It is sent with the type of its content
 * (`application/wasm`) and `Content-Encoding: br`. An archive (`.tar.gz`), and a name that does not tell the inner
 * type, keep their own type.
 */
export function representationOf(path: string, declaredType: string): Representation {
  const [, inner, suffix] = /^(.+\.[a-z0-9]+)\.(br|gz)$/i.exec(path) ?? []
  const encoding = inner && isTransparent(inner) ? ENCODINGS[suffix?.toLowerCase() as 'br' | 'gz'] : null
  const contentType = encoding ? innerType(inner as string) : declaredType
  return {
    contentType,
    encoding,
    cacheControl: cacheControlOf(path, contentType),
    isDocument: !encoding && /^text\/html\b/i.test(contentType),
  }
}

/** Unity's own suffixes, which no media type registry contains. */
const OPAQUE = /\.(?:data|unityweb|pck|symbols\.json)$/i

const isTransparent = (name: string) =>
  OPAQUE.test(name) || (mime.getType(name) !== null && !/\.(?:tar|cpio|gz|br|zip)$/i.test(name))

const innerType = (name: string) => (OPAQUE.test(name) ? 'application/octet-stream' : mediaTypeOf(name))

/**
 * Headers of every file of a game, as pairs for `writeHead`; the entity tag, length and range are added.
 *
 * @param coding the form of the file that is sent; `varies`: there are others; `framing`: the response differs in a
 *   frame
 */
export function headersOf(
  representation: Representation,
  { game, preview }: { game: Game; preview: boolean },
  { coding, varies, framing = false }: { coding: Coding | null; varies: boolean; framing?: boolean },
): string[] {
  const vary = [varies && 'accept-encoding', framing && 'sec-fetch-dest'].filter(Boolean).join(', ')
  const { contentType, cacheControl } = representation
  const encoding = representation.encoding ?? coding
  return [
    'content-type',
    contentType,
    'cache-control',
    game.visibility === 'public' && !preview ? cacheControl : 'private, no-cache',
    'x-content-type-options',
    'nosniff',
    'accept-ranges',
    'bytes',
    ...(encoding ? ['content-encoding', encoding] : []),
    ...(vary ? ['vary', vary] : []),
    ...(preview ? ['x-robots-tag', 'noindex'] : []),
    ...(game.settings.crossOriginIsolated ? Object.entries(ISOLATED).flat() : []),
  ]
}

/** With these headers, a page in a frame of an isolated page may use SharedArrayBuffer. */
export const ISOLATED = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
  'cross-origin-resource-policy': 'cross-origin',
}
