import { ScoreOutOfRange } from './errors.ts'

/**
 * Converts a score to whole numbers of the smallest unit of a board: with 2 decimals 12.34 is 1234. Further decimals
 * are rounded. The decimal text is scaled, because `1.005 * 100` is less than 100.5.
 *
 * @throws ScoreOutOfRange when the result is no safe integer
 */
export function toUnits(score: number, decimals: number): number {
  const [digits, exponent = '0'] = String(score).split('e')
  const units = Math.round(Number(`${digits}e${Number(exponent) + decimals}`))
  if (!Number.isSafeInteger(units)) throw new ScoreOutOfRange(`The score ${score} is too large for this board.`)
  return units + 0 // no negative zero
}

/** Converts units back to a score. */
export function fromUnits(units: number, decimals: number): number {
  return Number(`${units}e${-decimals}`)
}

/** Returns the key by which an entry is sorted: the best score has the smallest. */
export const sortKeyOf = (units: number, order: 'asc' | 'desc'): number => (order === 'asc' ? units : 0 - units)

/** The score of a player in one period. */
export interface Held {
  /** In units. */
  score: number
  detail: string | null
  at: Date
}

/**
 * Applies a submission to the score that a player has.
 *
 * @returns the new score, or the same object when it stays
 * @throws ScoreOutOfRange when a sum is no safe integer
 */
export function applySubmission(
  { keep, order }: { keep: 'best' | 'last' | 'sum'; order: 'asc' | 'desc' },
  before: Held | null,
  submitted: Held,
): Held {
  if (!before || keep === 'last') return submitted
  if (keep === 'best') return isBetter(order, submitted.score, before.score) ? submitted : before
  const score = before.score + submitted.score
  if (!Number.isSafeInteger(score)) throw new ScoreOutOfRange('The sum of your scores is too large for this board.')
  return { ...submitted, score }
}

export const isBetter = (order: 'asc' | 'desc', a: number, b: number): boolean => (order === 'asc' ? a < b : a > b)
