const DAY_MS = 86_400_000

/** When a board resets. */
export type Reset = 'never' | 'daily' | 'weekly' | 'monthly'

/** The number of the ranking of all time. Every other period has a greater number. */
export const ALL_TIME = 0

/**
 * Returns the number of the period of an instant. Periods follow UTC, whose days all have 24 hours: a day begins at
 * 00:00, a week on Monday, a month on its first day. Daylight saving changes nothing. Consecutive periods have
 * consecutive numbers.
 */
export function periodAt(reset: Reset, at: Date): number {
  const days = Math.floor(at.getTime() / DAY_MS)
  // Day 0 was a Thursday, so the weeks' Mondays are 3 days before a multiple of 7.
  if (reset === 'weekly') return Math.floor((days + 3) / 7)
  if (reset === 'monthly') return at.getUTCFullYear() * 12 + at.getUTCMonth()
  return reset === 'daily' ? days : ALL_TIME
}

/** Returns the instant at which a period begins, which is also the end of the one before; null for all time. */
export function beginOf(reset: Reset, period: number): Date | null {
  if (period === ALL_TIME) return null
  if (reset === 'weekly') return new Date((period * 7 - 3) * DAY_MS)
  if (reset === 'monthly') return new Date(Date.UTC(Math.floor(period / 12), period % 12))
  return reset === 'daily' ? new Date(period * DAY_MS) : null
}
