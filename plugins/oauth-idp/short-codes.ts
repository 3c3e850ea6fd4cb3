/** Consonants without those that look or sound alike. They form no words and are not misread (RFC 8628 section 6.1). */
const ALPHABET = 'BCDFGHJKLMNPQRSTVWXZ'

/**
 * Returns the letters of a code that people type, such as from paper.
 *
 * @param bytes random; at least twice as many as letters, so that all are equally frequent
 */
export function codeOf(bytes: Uint8Array, length: number): string {
  let rest = BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
  let letters = ''
  for (; letters.length < length; rest /= 20n) letters += ALPHABET[Number(rest % 20n)]
  return letters
}

/** Returns letters in display form: `BCDF-GHJK`. */
export const grouped = (letters: string): string => letters.replace(/.{4}(?=.)/g, '$&-')

/** Normalises a code that somebody typed: removes dashes and spaces, ignores case; null when it can't be one. */
export function parseCode(text: string, length: number): string | null {
  const letters = text.toUpperCase().replace(/[\s-]/g, '')
  return letters.length === length && [...letters].every((letter) => ALPHABET.includes(letter)) ? letters : null
}
