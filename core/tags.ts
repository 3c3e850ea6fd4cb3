import Type from 'typebox'
import { InvalidRequest } from './errors.ts'
import { plainLetters } from './plain-letters.ts'
import { visibleText } from './visible-text.ts'

const PATTERN = '^[\\p{L}\\p{M}\\p{N}-]{1,30}$'
const ADVICE = 'Use 1 to 30 letters, digits and hyphens.'
const TAG = new RegExp(PATTERN, 'u')
const LATIN = /^[\p{Script=Latin}\p{Script=Common}\p{M}]+$/u

/** A tag of a game or an asset, in any script. */
export const Tag = Type.String({ pattern: PATTERN, advice: ADVICE })
/** The tags of a game or an asset. */
export const Tags = Type.Array(Tag, { maxItems: 10 })

/**
 * Returns the form of a tag in which it is stored and compared: composed, without invisible characters and capitals, and
 * Latin letters without accents, so that `Łódź` is `lodz`. In other scripts accents make other letters.
 */
export function tagOf(word: string): string {
  const text = visibleText(word.normalize('NFKC'))
  return LATIN.test(text) ? plainLetters(text) : text.toLowerCase()
}

/** Returns the stored form of tags, each once. @throws InvalidRequest for what is no tag in that form, such as `½` */
export function storedTags(tags: readonly string[]): string[] {
  const stored = tags.map(tagOf)
  const at = stored.findIndex((tag) => !TAG.test(tag))
  if (at !== -1) {
    throw new InvalidRequest(`${tags[at]} is no tag. ${ADVICE}`).with({
      details: [{ path: `tags.${at}`, message: ADVICE }],
    })
  }
  return [...new Set(stored)]
}

/**
 * Returns the tags of a text, as people type them, each once and in order: they are separated by commas or spaces. What
 * can be no tag stays as it is, so that it is refused.
 */
export const tagsIn = (text: string): string[] => [
  ...new Set(
    text
      .split(/[\s,、，]+/)
      .filter(Boolean)
      .map((word) => {
        const tag = tagOf(word.replace(/^#/, ''))
        return TAG.test(tag) ? tag : word
      }),
  ),
]
