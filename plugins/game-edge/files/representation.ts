import { cacheControl } from '../../../core/http/headers.ts'
import { type ManifestFile, uploadedEncoding } from '../../deploy/index.ts'
import type { Game } from '../../games/index.ts'
import { cacheControlOf } from './caching.ts'
import type { Coding } from './codings.ts'

/** The headers and properties of a deploy's file, without its bytes. */
export interface Representation {
  contentType: string
  /** The coding in which its maker uploaded it. */
  encoding: Coding | null
  cacheControl: string
  /** Whether it is an HTML document that may get the widget's script tag. */
  isDocument: boolean
  /** Whether it can be the script of a worker, whose headers decide what the worker may do. */
  isScript: boolean
}

/** Determines the headers of a file from its name and type. @param changed names that had several contents */
export function representationOf(
  path: string,
  { contentType: typeByName, announcedType }: Pick<ManifestFile, 'contentType' | 'announcedType'>,
  changed: ReadonlySet<string> = NEVER,
): Representation {
  const uploaded = uploadedEncoding(path, announcedType)
  const contentType = uploaded?.contentType ?? typeByName
  return {
    contentType,
    encoding: uploaded?.encoding ?? null,
    cacheControl: cacheControlOf(path, contentType, changed),
    isDocument: !uploaded && /^text\/html\b/i.test(contentType),
    isScript: /\bjavascript\b/i.test(contentType),
  }
}

const NEVER: ReadonlySet<string> = new Set()

/**
 * Headers of every file of a game, as pairs for `writeHead`; the entity tag, length and range are added.
 *
 * @param coding the form of the file that is sent; `varies`: there are others; `framing`: the response differs in a
 *   frame; `worker`: it is the script of a worker, whose isolation is a setting, so that it is not immutable; `service`:
 *   it is that of a service worker, which has an addition of the platform
 */
export function headersOf(
  representation: Representation,
  { game, preview, isolated }: { game: Game; preview: boolean; isolated: boolean },
  {
    coding,
    varies,
    framing = false,
    worker = false,
    service = false,
  }: { coding: Coding | null; varies: boolean; framing?: boolean; worker?: boolean; service?: boolean },
): string[] {
  const { contentType, isScript } = representation
  const caching = worker ? cacheControl.revalidate : representation.cacheControl
  const byDestination = framing || service || (isScript && representation.cacheControl === cacheControl.immutable)
  const vary = [varies && 'accept-encoding', byDestination && 'sec-fetch-dest', service && 'service-worker']
    .filter(Boolean)
    .join(', ')
  return [
    'content-type',
    contentType,
    'cache-control',
    game.visibility === 'public' && !preview ? caching : cacheControl.private,
    'x-content-type-options',
    'nosniff',
    'accept-ranges',
    'bytes',
    ...(coding ? ['content-encoding', coding] : []),
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
