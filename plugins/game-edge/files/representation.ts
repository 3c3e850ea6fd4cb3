import { uploadedEncoding } from '../../deploy/index.ts'
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

/** Determines the headers of a file from its name and type. */
export function representationOf(path: string, declaredType: string): Representation {
  const uploaded = uploadedEncoding(path)
  const contentType = uploaded?.contentType ?? declaredType
  return {
    contentType,
    encoding: uploaded?.encoding ?? null,
    cacheControl: cacheControlOf(path, contentType),
    isDocument: !uploaded && /^text\/html\b/i.test(contentType),
  }
}

/**
 * Headers of every file of a game, as pairs for `writeHead`; the entity tag, length and range are added.
 *
 * @param coding the form of the file that is sent; `varies`: there are others; `framing`: the response differs in a
 *   frame
 */
export function headersOf(
  representation: Representation,
  { game, preview, isolated }: { game: Game; preview: boolean; isolated: boolean },
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
    ...(isolated ? Object.entries(ISOLATED).flat() : []),
  ]
}

/** With these headers, a page in a frame of an isolated page may use SharedArrayBuffer. */
export const ISOLATED = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
  'cross-origin-resource-policy': 'cross-origin',
}
