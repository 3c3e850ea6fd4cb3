import anyAscii from 'any-ascii'

/** Finds the words of a text, also in scripts that put no spaces between them. */
const WORDS = new Intl.Segmenter('en', { granularity: 'word' })

/**
 * Joins the words of a title for a slug: `[a-z0-9]` without accents and apostrophes, separated by single hyphens. Other
 * scripts are transliterated: "Привет" is "privet". The result may begin or end with a hyphen, or be empty; the caller
 * cuts it to its own length.
 */
export const slugWords = (title: string): string =>
  Array.from(WORDS.segment(title.normalize('NFKC').replace(/['’]/g, '')), ({ segment, isWordLike }) =>
    isWordLike ? anyAscii(segment).replace(/['`]/g, '') : ' ',
  )
    .join('-')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
