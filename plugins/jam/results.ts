import type { Category, CategoryResult, JamGame, Place } from './schemas.ts'

/** The number of votes of a game in a category. */
export interface Tally {
  categoryId: string
  gameId: string
  votes: number
}

/** The number of places that are shown. */
const PODIUM = 3

/**
 * Returns the places of each category, the best first. Games with equal votes share a place, and the next place is
 * skipped.
 */
export function placesOf(categories: readonly Category[], tallies: readonly Tally[], games: Map<string, JamGame>) {
  return categories.map((category) => {
    const byVotes = new Map<number, JamGame[]>()
    for (const { categoryId, gameId, votes } of tallies) {
      const game = games.get(gameId)
      if (categoryId === category.id && game && votes > 0) byVotes.set(votes, [...(byVotes.get(votes) ?? []), game])
    }
    const places: Place[] = []
    let rank = 1
    for (const [votes, sharing] of [...byVotes].sort(([a], [b]) => b - a)) {
      if (rank > PODIUM) break
      places.push({ rank, votes, games: sharing.sort((a, b) => a.title.localeCompare(b.title)) })
      rank += sharing.length
    }
    return { ...category, places }
  })
}

type Ranked = ReturnType<typeof placesOf>[number]

/** A category without votes takes a step too, which shows that there were none. */
const stepsIn = ({ places }: Ranked): number => Math.max(1, places.length)

/** Returns the number of steps that show everything. */
export const stepCount = (ranked: readonly Ranked[]): number => ranked.reduce((sum, each) => sum + stepsIn(each), 0)

/** Returns the places that a number of steps reveals: category by category, the last place first. */
export function revealedOf(ranked: readonly Ranked[], steps: number): CategoryResult[] {
  let left = steps
  return ranked.map((category) => {
    const shown = Math.min(Math.max(left, 0), stepsIn(category))
    left -= stepsIn(category)
    const { places } = category
    return {
      ...category,
      places: shown === 0 ? [] : places.slice(Math.max(0, places.length - shown)),
      complete: shown === stepsIn(category),
    }
  })
}
