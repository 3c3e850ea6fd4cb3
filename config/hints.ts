import leven from 'leven'

/** Normalises a word to lower case without separators, so that `base_url` equals `baseUrl`. */
const plain = (word: string) => word.toLowerCase().replace(/[^a-z0-9]/g, '')

const letters = (word: string) => [...plain(word)].sort().join('')

/** Computes the edit distance. A transposition (`hots`), which is a common typing error, counts as one edit. */
const distance = (word: string, candidate: string) =>
  letters(word) === letters(candidate) ? Number(plain(word) !== plain(candidate)) : leven(plain(word), plain(candidate))

/** Returns the most similar candidate; at most a part of its letters may differ, by default a third. */
export function nearest(word: string, candidates: Iterable<string>, { share = 3 } = {}): string | undefined {
  let best: string | undefined
  let shortest = Number.POSITIVE_INFINITY
  for (const candidate of candidates) {
    const limit = Math.max(1, Math.floor(candidate.length / share))
    const changes = distance(word, candidate)
    if (changes <= limit && changes < shortest) {
      best = candidate
      shortest = changes
    }
  }
  return best
}

/** Returns `, did you mean `database`?`, or an empty string. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const candidate = nearest(word, candidates)
  return candidate === undefined ? '' : `, did you mean \`${candidate}\`?`
}
