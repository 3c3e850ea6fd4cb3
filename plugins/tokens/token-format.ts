import { randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** Made in the settings with chosen scopes, or by the CLI's login with full access. */
export type TokenKind = 'api' | 'cli'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const RANDOM = 32
const CHECKSUM = 6
const FORM = /^svc_(api|cli)_([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/

/** A new token: `svc_api_`, 32 random base62 characters (190 bits) and 6 of checksum (contracts, section 4). */
export function newToken(kind: TokenKind): string {
  const random = Array.from({ length: RANDOM }, () => ALPHABET[randomInt(62)]).join('')
  return `svc_${kind}_${random}${checksumOf(random)}`
}

/** Which kind of token a text has the form of; null for none. */
export const kindOf = (token: string): TokenKind | null => (FORM.exec(token)?.[1] as TokenKind | undefined) ?? null

/** Whether form and checksum are right: tells a typing error from a token without a look-up, here or in a scanner. */
export function isWellFormed(token: string): boolean {
  const [, , random, checksum] = FORM.exec(token) ?? []
  return random !== undefined && checksumOf(random) === checksum
}

/** CRC-32 (IEEE 802.3) of the random part, in base62, most significant first. */
function checksumOf(random: string): string {
  let value = crc32(random)
  let text = ''
  for (let place = 0; place < CHECKSUM; place++) {
    text = ALPHABET[value % 62] + text
    value = Math.floor(value / 62)
  }
  return text
}
