import type { Database } from '../../../core/data/database.ts'
import { InvalidRequest } from '../../../core/errors.ts'
import type { Analytics, AnalyticsQuery } from '../schemas.ts'

const DAY_MS = 86_400_000
const USUAL_DAYS = 30
const MOST_DAYS = 366

/**
 * Returns the statistics of a game by day, oldest first, including days without events.
 *
 * @param query first and last day (UTC); the last 30 days by default
 * @throws InvalidRequest when they make no span of 1 to 366 days
 */
export async function readAnalytics(
  db: Database,
  gameId: string,
  query: AnalyticsQuery,
  now: Date,
): Promise<Analytics> {
  const to = query.to ?? dateOf(now)
  const from = query.from ?? dateOf(new Date(Date.parse(to) - (USUAL_DAYS - 1) * DAY_MS))
  const length = Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS) + 1
  if (!(length >= 1 && length <= MOST_DAYS)) {
    throw new InvalidRequest(`Ask for 1 to ${MOST_DAYS} days: from ${from} to ${to} are ${length}.`)
  }
  const rows = await db.query<Row>(
    `select date, plays, unique_players, sign_ins, peak_players from game_days
     where game_id = ? and date >= ? and date <= ?`,
    [gameId, from, to],
  )
  const byDate = new Map(rows.map((row) => [row.date, row]))
  const days = Array.from({ length }, (_, index) => {
    const date = dateOf(new Date(Date.parse(from) + index * DAY_MS))
    const row = byDate.get(date)
    return {
      date,
      plays: row?.plays ?? 0,
      uniquePlayers: row?.unique_players ?? 0,
      signIns: row?.sign_ins ?? 0,
      peakPlayers: row?.peak_players ?? 0,
    }
  })
  const sum = (field: 'plays' | 'uniquePlayers' | 'signIns') => days.reduce((total, day) => total + day[field], 0)
  return {
    days,
    totals: {
      plays: sum('plays'),
      uniquePlayers: sum('uniquePlayers'),
      signIns: sum('signIns'),
      peakPlayers: Math.max(...days.map((day) => day.peakPlayers)),
    },
  }
}

interface Row {
  date: string
  plays: number
  unique_players: number
  sign_ins: number
  peak_players: number
}

const dateOf = (at: Date): string => at.toISOString().slice(0, 10)
