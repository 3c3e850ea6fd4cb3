/** Maximum length of an indexed prefix. Longer words are compared by this prefix. */
const LONGEST = 16

/** Splits a text into normalised words: without compatibility forms, accents and case. */
const wordsOf = (text: string): string[] =>
  text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu) ?? []

/** Returns the terms of a search. A result must match all of them. */
export const termsOfQuery = (query: string): string[] => [
  ...new Set(wordsOf(query).map((word) => [...word].slice(0, LONGEST).join(''))),
]

/**
 * Returns the search terms of a text. Every prefix of a word is a separate term, so that a search is a look-up by
 * equality. A range over text would follow a different order in every database and locale.
 */
export function termsOfText(text: string): string[] {
  const terms = new Set<string>()
  for (const word of wordsOf(text)) {
    const letters = [...word].slice(0, LONGEST)
    letters.forEach((_, index) => void terms.add(letters.slice(0, index + 1).join('')))
  }
  return [...terms]
}

/** Returns the term of a tag; no word begins with `#`. */
export const termOfTag = (tag: string): string => `#${tag}`

export const tagOfTerm = (term: string): string => term.slice(1)
