import { plainLetters } from '../plain-letters.ts'

/** Maximum length of an indexed prefix. Longer words are compared by this prefix. */
const LONGEST = 16

/** Scripts that put no spaces between words, so that a word may begin at each character. */
const UNSPACED = /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]/u
/** The most characters of such a text at which a search may begin. It bounds the rows of a title. */
const MOST_INNER = 32

/** Splits a text into normalised words: without compatibility forms, accents and case. */
const wordsOf = (text: string): string[] =>
  text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu) ?? []

/** Returns the rests of words at which a search may begin as well: in scripts without spaces, and after the Arabic article. */
function innerWordsOf(words: readonly string[]): string[] {
  const articles = words.filter((word) => /^ال../.test(word)).map((word) => word.slice(2))
  const unspaced = words.flatMap((word) => {
    const letters = [...word]
    return letters.flatMap((letter, at) => (at > 0 && UNSPACED.test(letter) ? [letters.slice(at).join('')] : []))
  })
  return [...articles, ...unspaced.slice(0, MOST_INNER)]
}

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
 * "lodz", for people who lack its letters on the keyboard, and "ゲームの森" by "森".
 */
export function termsOfText(text: string): string[] {
  const terms = new Set<string>()
  const words = wordsOf(text)
  for (const word of [...words, ...wordsOf(plainLetters(text)), ...innerWordsOf(words)]) {
    const letters = [...word].slice(0, LONGEST)
    letters.forEach((_, index) => void terms.add(letters.slice(0, index + 1).join('')))
  }
  return [...terms]
}

/** Returns the term of a tag; no word begins with `#`. */
export const termOfTag = (tag: string): string => `#${tag}`

export const tagOfTerm = (term: string): string => term.slice(1)
