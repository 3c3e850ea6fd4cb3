import type { Category, CategoryResult, JamGame, Place } from './schemas.ts'

/** How many votes a game has in a category. */
export interface Tally {
  categoryId: string
  gameId: string
  votes: number
}

/** Places beyond it are nobody's business. */
const PODIUM = 3

/** The places of each category, the best first; games with as many votes share one, and the next is further down. */
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

/** A category without votes takes a step too: it is said that there were none. */
const stepsIn = ({ places }: Ranked): number => Math.max(1, places.length)

/** How many steps it takes to show everything. */
export const stepCount = (ranked: readonly Ranked[]): number => ranked.reduce((sum, each) => sum + stepsIn(each), 0)

/** The revealed places after a number of steps: one category after the other, its last place first. */
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
