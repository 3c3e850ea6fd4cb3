import { randomBytes, randomFillSync } from 'node:crypto'
import { decodeTime, encodeTime, monotonicFactory } from 'ulid'

/** The prefixes of contracts, section 1: an id says what it names. */
export type IdPrefix = 'ply' | 'gam' | 'app' | 'tok' | 'dep' | 'ast' | 'job' | 'gen' | 'led' | (string & {})

// Within one millisecond too, the later id is the greater: lists are sorted by it.
const ulid = monotonicFactory(randomCharacters())

/** Random numbers from 0 up to 1, a byte each, made many at once: the library's own source is asked for each character. */
function randomCharacters(): () => number {
  const bytes = new Uint8Array(4096)
  let used = bytes.length
  return () => {
    if (used === bytes.length) {
      randomFillSync(bytes)
      used = 0
    }
    return (bytes[used++] as number) / 256
  }
}

/** An id: a type prefix, `_`, and 26 characters that sort by time of creation (a ULID). */
export const newId = (prefix: IdPrefix, at: Date): string => `${prefix}_${ulid(at.getTime())}`

/** What every id sorts below that was made before an instant, and no other: an index by id is one by time of creation. */
export const firstId = (prefix: IdPrefix, at: Date): string => `${prefix}_${encodeTime(at.getTime())}`

/** When an id was made. */
export const timeOfId = (id: string): Date => new Date(decodeTime(id.slice(id.indexOf('_') + 1)))

/** Whether a string has the form of such an id: cheap, before any look-up. */
export const isId = (prefix: IdPrefix, value: string): boolean =>
  value.length === prefix.length + 27 &&
  value.startsWith(`${prefix}_`) &&
  /^[0-9A-HJKMNP-TV-Z]{26}$/.test(value.slice(-26))

/** Random text of `[A-Za-z0-9_-]`, `bytes` strong: for codes, states and secrets. */
export const randomText = (bytes: number): string => randomBytes(bytes).toString('base64url')

/**
 * Joins the words of a title for a slug: `[a-z0-9]` without accents and apostrophes, separated by single hyphens. The
 * result may begin or end with a hyphen, or be empty; the caller cuts it to its own length.
 */
export const slugWords = (title: string): string =>
  title
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/['’]/g, '')
    .replace(/[^a-z0-9]+/g, '-')

/** Names for requests, unlike any other's: not secret, and made without asking for randomness each time. */
export function requestIds(): () => string {
  const process = randomText(9)
  let count = 0
  return () => process + (count++).toString(36)
}
