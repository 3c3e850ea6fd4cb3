import { plainLetters } from '../plain-letters.ts'

/** Maximum length of an indexed prefix. Longer words are compared by this prefix. */
const LONGEST = 16

/** Splits a text into normalised words: without compatibility forms, accents and case. */
const wordsOf = (text: string): string[] =>
  text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu) ?? []

/** The term of a search that has only signs, such as `%`. No text has it, so the search finds nothing, and not everything. */
const NO_WORD = ''

/** Returns the terms of a search; none when it is blank. A result must match all of them. */
export function termsOfQuery(query: string): string[] {
  const words = wordsOf(query)
  if (words.length === 0) return query.trim() === '' ? [] : [NO_WORD]
  return [...new Set(words.map((word) => [...word].slice(0, LONGEST).join('')))]
}

/**
 * Returns the search terms of a text. Every prefix of a word is a separate term, so that a search is a look-up by
 * equality. A range over text would follow a different order in every database and locale. "Łódź" is also found by
 * "lodz", for people who lack its letters on the keyboard.
 */
export function termsOfText(text: string): string[] {
  const terms = new Set<string>()
  for (const word of [...wordsOf(text), ...wordsOf(plainLetters(text))]) {
    const letters = [...word].slice(0, LONGEST)
    letters.forEach((_, index) => void terms.add(letters.slice(0, index + 1).join('')))
  }
  return [...terms]
}

/** Returns the term of a tag; no word begins with `#`. */
export const termOfTag = (tag: string): string => `#${tag}`

export const tagOfTerm = (term: string): string => term.slice(1)
