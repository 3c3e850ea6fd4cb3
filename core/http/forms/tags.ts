import { plainLetters } from '../../plain-letters.ts'

/**
 * Returns the tags of a text, as people type them, each once and in order: they are separated by commas or spaces, and
 * letters are small and plain (`Łódź` is `lodz`). What can be no tag stays as it is, so that it is refused.
 */
export const tagsIn = (text: string): string[] => [
  ...new Set(
    text
      .split(/[\s,]+/)
      .filter(Boolean)
      .map(tagOf),
  ),
]

function tagOf(word: string): string {
  const plain = plainLetters(word.replace(/^#/, ''))
  return /^[\w-]+$/.test(plain) ? plain : word
}
