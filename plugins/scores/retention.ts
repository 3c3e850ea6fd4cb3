import { type Database, deleteInBatches } from '../../core/data/database.ts'
import { ALL_TIME, periodAt, type Reset } from './periods.ts'

/** One year, and one month to look at the complete year. */
const KEPT_DAYS = 400
const DAY_MS = 86_400_000

/** The time for which a submission that is sent again counts once. */
const SUBMISSIONS_KEPT_MS = 7 * DAY_MS

const SUBMISSIONS = { table: 'score_submissions', key: ['board', 'player_id', 'id'] } as const
const PERIODIC = [
  { table: 'score_entries', key: ['board', 'period', 'player_id'] },
  { table: 'score_nodes', key: ['board', 'period', 'level', 'low'] },
] as const

/**
 * Deletes the rows of removed boards, the entries of periods before the previous one, old numbers of
 * submissions, and ids of submissions of more than a week ago.
 * Nobody reads any of these.
 */
export async function sweepScores(db: Database, now: Date, signal?: AbortSignal): Promise<void> {
  for (const { board } of await db.query<{ board: string }>('select board from score_deletions limit 1000')) {
    const where = 'board = ?'
    for (const each of [...PERIODIC, SUBMISSIONS])
      await deleteInBatches(db, { ...each, where, parameters: [board] }, signal)
    for (const table of ['score_days', 'score_exclusions'])
      await db.execute(`delete from ${table} where board = ?`, [board])
    if (signal?.aborted) return
    await db.execute('delete from score_deletions where board = ?', [board])
  }
  await deleteInBatches(
    db,
    { ...SUBMISSIONS, where: 'at < ?', parameters: [new Date(now.getTime() - SUBMISSIONS_KEPT_MS)] },
    signal,
  )
  if (signal?.aborted) return
  const boards = await db.query<{ key: string; reset: Reset }>(
    `select key, reset from score_boards where reset <> 'never'`,
  )
  for (const { key, reset } of boards) {
    const where = `board = ? and period > ${ALL_TIME} and period < ?`
    const parameters = [key, periodAt(reset, now) - 1]
    for (const each of PERIODIC) await deleteInBatches(db, { ...each, where, parameters }, signal)
    if (signal?.aborted) return
  }
  const oldest = new Date(now.getTime() - KEPT_DAYS * DAY_MS).toISOString().slice(0, 10)
  const days = { table: 'score_days', key: ['board', 'date'], where: 'date < ?', parameters: [oldest] }
  await deleteInBatches(db, days, signal)
}
