import { cacheControl } from '../../../core/http/headers.ts'

/** Returns the `Cache-Control` of a game's file. */
export function cacheControlOf(path: string, contentType: string): string {
  if (contentType.startsWith('text/html')) return cacheControl.document
  return hasContentHash(path) ? cacheControl.immutable : cacheControl.revalidate
}

/**
 * Whether a file's name contains a digest of its content, as bundlers write it: `index-BsX9_a1b.js`,
 * `main.3f2a9c1b.chunk.css`, `chunk-K7QX2M5A.js`.
 *
 * A false positive would leave players with an old file for a year; a false negative costs a 304. In doubt the result
 * is false: words, numbers, dates and names such as `Player2D` do not count.
 */
export function hasContentHash(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1).replace(/\.(?:br|gz)$/, '')
  return name
    .split('.')
    .slice(0, -1)
    .some((part) => isHex(part.split(/[-_]/).at(-1) as string) || isMixed(part))
}

/** Hex digits in the style of webpack and Parcel. A short run counts only if it is not a word followed by a number. */
const isHex = (word: string) =>
  /^[0-9a-f]{8,64}$/.test(word) && /[0-9]/.test(word) && /[a-f]/.test(word) && (word.length >= 16 || jumps(word) >= 3)

/** Eight characters of base64url or base32 after a dash or dot, in the style of Rollup and esbuild. */
function isMixed(part: string): boolean {
  const last = part.slice(-8)
  return /^[A-Za-z0-9_-]{8}$/.test(last) && (part.length === 8 || part.at(-9) === '-') && jumps(last) >= 4
}

/** Counts the changes of character kind: upper case, lower case, digit, sign. */
function jumps(text: string): number {
  const kinds = text.replace(/[A-Z]/g, 'A').replace(/[a-z]/g, 'a').replace(/[0-9]/g, '0')
  return [...kinds].filter((kind, index) => index > 0 && kind !== kinds[index - 1]).length
}
