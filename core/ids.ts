import { randomBytes, randomFillSync } from 'node:crypto'
import { decodeTime, encodeTime, monotonicFactory } from 'ulid'

/** The id prefixes, which name the type of the object. */
export type IdPrefix = 'ply' | 'gam' | 'app' | 'tok' | 'dep' | 'ast' | 'job' | 'gen' | 'led' | (string & {})

// The ULIDs are monotonic within a millisecond, because lists are sorted by id.
const ulid = monotonicFactory(randomCharacters())

/**
 * Returns a source of random numbers in [0, 1), one byte each, generated in bulk. The library would request each one
 * separately.
 */
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

/** Creates an id: a type prefix, `_`, and a ULID of 26 characters that sorts by creation time. */
export const newId = (prefix: IdPrefix, at: Date): string => `${prefix}_${ulid(at.getTime())}`

/** Returns the lower bound of all ids that were created from an instant on, for queries by time on an index by id. */
export const firstId = (prefix: IdPrefix, at: Date): string => `${prefix}_${encodeTime(at.getTime())}`

/** Returns the creation time of an id. */
export const timeOfId = (id: string): Date => new Date(decodeTime(id.slice(id.indexOf('_') + 1)))

/** Whether a string has the form of an id with this prefix; a cheap check before any look-up. */
export const isId = (prefix: IdPrefix, value: string): boolean =>
  value.length === prefix.length + 27 &&
  value.startsWith(`${prefix}_`) &&
  /^[0-9A-HJKMNP-TV-Z]{26}$/.test(value.slice(-26))

/** Creates random text of `[A-Za-z0-9_-]` from `bytes` random bytes, for codes, states and secrets. */
export const randomText = (bytes: number): string => randomBytes(bytes).toString('base64url')

/** Returns a generator of unique request ids. They are not secret, so each one needs no new random bytes. */
export function requestIds(): () => string {
  const process = randomText(9)
  let count = 0
  return () => process + (count++).toString(36)
}
