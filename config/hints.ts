import leven from 'leven'

/** Lower case, without separators: `base_url` and `baseUrl` are one word to a person. */
const plain = (word: string) => word.toLowerCase().replace(/[^a-z0-9]/g, '')

const letters = (word: string) => [...plain(word)].sort().join('')

/** The edit distance; letters in another order count as one edit, since that is a common typing error: `hots`. */
const distance = (word: string, candidate: string) =>
  letters(word) === letters(candidate) ? Number(plain(word) !== plain(candidate)) : leven(plain(word), plain(candidate))

/** The candidate that was probably meant: at most a third of its letters differ. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined
  let shortest = Number.POSITIVE_INFINITY
  for (const candidate of candidates) {
    const limit = Math.max(1, Math.floor(candidate.length / 3))
    const changes = distance(word, candidate)
    if (changes <= limit && changes < shortest) {
      best = candidate
      shortest = changes
    }
  }
  return best
}

/** `, did you mean `database`?`, or nothing. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const candidate = nearest(word, candidates)
  return candidate === undefined ? '' : `, did you mean \`${candidate}\`?`
}
