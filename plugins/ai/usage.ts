import type { Database } from '../../core/data/database.ts'

const DAY_MS = 86_400_000

/** The generations of a game's players and owners. */
export interface Usage {
  /** Oldest first, including days without generations. */
  days: { date: string; generations: number; credits: number }[]
  models: { model: string; type: string; generations: number; credits: number }[]
}

/** @param span the number of days up to today (UTC) */
export async function readUsage(db: Database, gameId: string, span: number, now: Date): Promise<Usage> {
  const dateOf = (daysAgo: number) => new Date(now.getTime() - daysAgo * DAY_MS).toISOString().slice(0, 10)
  const since = dateOf(span - 1)
  const rows = await db.query<{ date: string; model: string; type: string; generations: number; credits: number }>(
    `select date, model, type, count(*) as generations, sum(credits) as credits from ai_generations
     where game_id = ? and date >= ? group by date, model, type`,
    [gameId, since],
  )
  const days = new Map(
    Array.from({ length: span }, (_, index) => dateOf(span - 1 - index)).map((date) => [
      date,
      { date, generations: 0, credits: 0 },
    ]),
  )
  const models = new Map<string, Usage['models'][number]>()
  for (const { date, model, type, generations, credits } of rows) {
    const day = days.get(date)
    if (day) {
      day.generations += generations
      day.credits += credits
    }
    const known = models.get(`${type}/${model}`) ?? { model, type, generations: 0, credits: 0 }
    known.generations += generations
    known.credits += credits
    models.set(`${type}/${model}`, known)
  }
  return { days: [...days.values()], models: [...models.values()].sort((a, b) => b.credits - a.credits) }
}
