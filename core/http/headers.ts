import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { ByteRange } from '../data/byte-range.ts'

/** Shared parts of HTTP: entity tags, ranges, content negotiation, cache headers. */

export const cacheControl = {
  /** For URLs with a digest of the content: a changed file gets another URL. */
  immutable: 'public, max-age=31536000, immutable',
  /** Allows caching, with revalidation on every use. */
  revalidate: 'public, max-age=0, must-revalidate',
  /** Equivalent to `revalidate`; the usual form for documents. */
  document: 'no-cache',
  /** For what depends on the caller: only their browser may keep it, with revalidation on every use. */
  private: 'private, no-cache',
} as const

/**
 * Makes every response private that says nothing about caching itself. A cache may otherwise store it, and a proxy that
 * caches without being told so would show it to others.
 */
export function installPrivateCaching(app: FastifyInstance): void {
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', cacheControl.private)
    done(null, payload)
  })
}

/**
 * Whether `If-None-Match` matches an entity tag, so that a GET is answered with 304 (RFC 9110 section 13.1.2: weak
 * comparison).
 */
export function matchesEtag(header: string | string[] | undefined, etag: string): boolean {
  if (header === undefined) return false
  if (header === etag) return true
  const opaque = etag.replace(/^W\//, '')
  return String(header)
    .split(',')
    .some((candidate) => {
      const tag = candidate.trim()
      return tag === '*' || tag.replace(/^W\//, '') === opaque
    })
}

/**
 * Parses a `Range` header for a representation of `size` bytes (RFC 9110 section 14).
 *
 * Only a single range is served. Several ranges, another unit and an invalid header are ignored, as the RFC allows: the
 * result is null, which means the whole representation.
 *
 * @returns `unsatisfiable` for 416
 */
export function parseRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | null {
  const match = header === undefined ? null : /^bytes=[ \t]*([0-9]{0,15})-([0-9]{0,15})[ \t]*$/i.exec(header)
  if (!match) return null
  const [, first = '', last = ''] = match
  if (first === '') {
    if (last === '') return null
    const length = Math.min(Number(last), size)
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 }
  }
  const start = Number(first)
  if (last !== '' && Number(last) < start) return null
  if (start >= size) return 'unsatisfiable'
  return { start, end: last === '' ? size - 1 : Math.min(Number(last), size - 1) }
}

/**
 * Whether a range may be served under its `If-Range` (RFC 9110 section 13.1.5: strong comparison). A date never
 * matches, since the platform sends no Last-Modified.
 */
export const ifRangeHolds = (header: string | undefined, etag: string): boolean =>
  header === undefined || header.trim() === etag

/**
 * Chooses a content coding (RFC 9110 section 12.5.3). Of the available codings, best first, it takes the first that the
 * client accepts and ranks no lower than another one or the identity coding.
 *
 * @returns null for the identity coding
 */
export function chooseEncoding<Encoding extends { coding: string }>(
  accepted: string | undefined,
  encodings: readonly Encoding[],
): Encoding | null {
  if (!accepted || encodings.length === 0) return null
  const weights = new Map<string, number>()
  for (const part of accepted.toLowerCase().split(',')) {
    const [coding = '', ...parameters] = part.split(';').map((piece) => piece.trim())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    weights.set(coding, weight ? Number(weight.slice(2)) || 0 : 1)
  }
  const weigh = (coding: string) => weights.get(coding) ?? weights.get('*') ?? 0
  let best: Encoding | null = null
  for (const encoding of encodings) {
    if (weigh(encoding.coding) > (best ? weigh(best.coding) : 0)) best = encoding
  }
  return best && weigh(best.coding) >= (weights.get('identity') ?? 0) ? best : null
}

/** Whether a browser or a framework fetches an address that nobody has followed yet. */
export const isPrefetch = (headers: IncomingHttpHeaders): boolean =>
  /\bprefetch\b/.test(`${headers['sec-purpose'] ?? ''} ${headers.purpose ?? ''}`) ||
  headers['next-router-prefetch'] !== undefined
