// In a process of its own: ids never go back, and its clock begins a year ago.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { simulateHistory } from '../../bench/simulated-history.ts'

const DAY_MS = 86_400_000
const MONTHS = 6
/** Tables that have no rows after a number of days, by the rules in docs/self-hosting.md, with their time columns. */
const GONE = [
  ['game_visitors', 'date', 3],
  ['authorization_codes', 'expires_at', 30],
  ['frame_tickets', 'expires_at', 30],
  ['oauth_access_tokens', 'expires_at', 60],
  ['sessions', 'expires_at', 60],
  ['idempotent_answers', 'created_at', 30],
  ['blender_jobs', 'finished_at', 61],
] as const
/** `limits.deploysKept`, plus those since the last sweep. */
const MOST_DEPLOYS = 20 + 5

t.test('half a year passes and what has a rule is gone', async (t) => {
  const folder = t.testdir()
  const size = { months: MONTHS, players: 500, games: 400, plays: 20_000, deploysADay: 60, blenderJobs: 4000 }
  const { app, written } = await simulateHistory(folder, size, (line) => t.comment(line))
  t.teardown(() => app.close())
  t.ok(written > 100_000, `${written} rows were written`)
  t.ok(statSync(join(folder, 'data/gameyard.db')).size < 100e6, 'the database is below 100 MB')

  for (const [table, column, days] of GONE) {
    const since = Date.now() - days * DAY_MS
    const oldest = column === 'date' ? new Date(since).toISOString().slice(0, 10) : since
    const [row] = await app.db.query<{ rows: number }>(`select count(*) as rows from ${table} where ${column} < ?`, [
      oldest,
    ])
    t.equal(Number(row?.rows), 0, `${table} has no row older than ${days} days`)
  }
  const [deploys] = await app.db.query<{ most: number }>(
    `select max(n) as most from (select count(*) as n from deploys where state = 'superseded' group by game_id) as counts`,
  )
  t.ok(Number(deploys?.most) <= MOST_DEPLOYS, 'deploys are kept as far as the rule says')
})
