import { randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** `api`: created in the settings with selected scopes. `cli`: created by the CLI's login with full access. */
export type TokenKind = 'api' | 'cli'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const RANDOM = 32
const CHECKSUM = 6
/** The number of characters after the prefix. */
export const TOKEN_LENGTH = RANDOM + CHECKSUM
const FORM = /^svc_(api|cli)_([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/

/** Creates a token: `svc_api_`, 32 random base62 characters (190 bits) and 6 of checksum. */
export function newToken(kind: TokenKind): string {
  const random = Array.from({ length: RANDOM }, () => ALPHABET[randomInt(62)]).join('')
  return `svc_${kind}_${random}${checksumOf(random)}`
}

/** Returns the kind of a token by its format; null for none. */
export const kindOf = (token: string): TokenKind | null => (FORM.exec(token)?.[1] as TokenKind | undefined) ?? null

/** Whether format and checksum are valid, which detects typing errors without a lookup, here and in secret scanners. */
export function isWellFormed(token: string): boolean {
  const [, , random, checksum] = FORM.exec(token) ?? []
  return random !== undefined && checksumOf(random) === checksum
}

/** Computes the CRC-32 (IEEE 802.3) of the random part, in base62, most significant digit first. */
function checksumOf(random: string): string {
  let value = crc32(random)
  let text = ''
  for (let place = 0; place < CHECKSUM; place++) {
    text = ALPHABET[value % 62] + text
    value = Math.floor(value / 62)
  }
  return text
}
