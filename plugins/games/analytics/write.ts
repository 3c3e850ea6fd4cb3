import { LockMode } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Database, Parameter } from '../../../core/data/database.ts'
import { GameRow } from '../entities.ts'

/** The counts of one game on one day that are not stored yet. */
export interface Count {
  gameId: string
  /** UTC date, such as `2026-11-21`. */
  date: string
  plays: number
  signIns: number
  /** Hashes of the visitors, without those that are known to be stored. */
  visitors: Set<string>
  /** The peak of players on this node since the last write; null when the number has not changed. */
  players: number | null
}

/** The maximum age of a node's report of players. Without a recent one, the node counts as empty. */
export const PRESENT_MS = 30_000
/** The number of rows in a statement, since both databases limit parameters. */
const ROWS = 1000

/**
 * Adds counts to the stored ones, in one transaction with a few statements for any number of games. After an error
 * nothing is stored, and the same counts can be passed again. The counts of a game that is permanently deleted are
 * dropped.
 */
export async function writeCounts(
  db: Database,
  counts: readonly Count[],
  { node, now }: { node: string; now: Date },
): Promise<void> {
  await db.transaction(async (em) => {
    const existing = await lockGames(em, [...new Set(counts.map(({ gameId }) => gameId))].sort())
    // All nodes write in the same order, which prevents deadlocks.
    const sorted = counts
      .filter(({ gameId }) => existing.has(gameId))
      .toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
    const unique = await addVisitors(em, sorted)
    const peaks = await addPresence(em, sorted, node, now)
    await inParts(em, sorted, (rows) => ({
      sql: `insert into game_days (game_id, date, plays, unique_players, sign_ins, peak_players)
        values ${rows.map(() => '(?, ?, ?, ?, ?, ?)').join(', ')}
        on conflict (game_id, date) do update set
          plays = game_days.plays + excluded.plays,
          unique_players = game_days.unique_players + excluded.unique_players,
          sign_ins = game_days.sign_ins + excluded.sign_ins,
          peak_players = case when excluded.peak_players > game_days.peak_players
            then excluded.peak_players else game_days.peak_players end`,
      values: rows.flatMap((count) => [
        count.gameId,
        count.date,
        count.plays,
        unique.get(keyOf(count)) ?? 0,
        count.signIns,
        // If the players were just reported as gone, the sum is not a new peak.
        count.players ? (peaks.get(count.gameId) ?? 0) : 0,
      ]),
    }))
    await inParts(em, totalsOf(sorted), (rows) => ({
      sql: `update games set plays = games.plays + c.column2, sign_ins = games.sign_ins + c.column3
        from (values ${rows.map(() => '(cast(? as text), cast(? as integer), cast(? as integer))').join(', ')}) c
        where games.id = c.column1`,
      values: rows.flat(),
    }))
  })
}

const keyOf = ({ gameId, date }: Count): string => `${gameId} ${date}`

/**
 * Locks the rows of games against their permanent deletion, which holds the same lock while it deletes their counts.
 *
 * @returns the ids of those that are not permanently deleted
 */
async function lockGames(em: SqlEntityManager, ids: string[]): Promise<Set<string>> {
  const existing = new Set<string>()
  for (let from = 0; from < ids.length; from += ROWS) {
    const rows = await em.find(
      GameRow,
      { id: { $in: ids.slice(from, from + ROWS) }, erasedAt: null },
      { fields: ['id'], orderBy: { id: 'asc' }, lockMode: LockMode.PESSIMISTIC_WRITE },
    )
    for (const { id } of rows) existing.add(id)
  }
  return existing
}

/** @returns the number of new visitors of the day, by game and day */
async function addVisitors(em: SqlEntityManager, counts: readonly Count[]): Promise<Map<string, number>> {
  const rows = counts.flatMap(({ gameId, date, visitors }) =>
    [...visitors].sort().map((visitor) => [date, gameId, visitor] as const),
  )
  const added = new Map<string, number>()
  for (let from = 0; from < rows.length; from += ROWS) {
    const part = rows.slice(from, from + ROWS)
    const fresh = await em.execute<{ game_id: string; date: string }[]>(
      `insert into game_visitors (date, game_id, visitor) values ${part.map(() => '(?, ?, ?)').join(', ')}
       on conflict do nothing returning game_id, date`,
      part.flat(),
    )
    for (const { game_id, date } of fresh) added.set(`${game_id} ${date}`, (added.get(`${game_id} ${date}`) ?? 0) + 1)
  }
  return added
}

/** @returns the number of players on all nodes, by game */
async function addPresence(
  em: SqlEntityManager,
  counts: readonly Count[],
  node: string,
  now: Date,
): Promise<Map<string, number>> {
  // At midnight one game has two counts. The later one has the current number.
  const here = new Map<string, number>()
  for (const { gameId, players } of counts) if (players !== null) here.set(gameId, players)
  await inParts(em, [...here], (rows) => ({
    sql: `insert into game_presence (game_id, node, players, seen_at) values ${rows.map(() => '(?, ?, ?, ?)').join(', ')}
      on conflict (game_id, node) do update set players = excluded.players, seen_at = excluded.seen_at`,
    values: rows.flatMap(([gameId, players]) => [gameId, node, players, now]),
  }))
  const peaks = new Map<string, number>()
  const games = [...here.keys()]
  for (let from = 0; from < games.length; from += ROWS) {
    const part = games.slice(from, from + ROWS)
    const sums = await em.execute<{ game_id: string; players: number | string }[]>(
      `select game_id, sum(players) as players from game_presence
       where game_id in (${part.map(() => '?').join(', ')}) and seen_at > ? group by game_id`,
      [...part, new Date(now.getTime() - PRESENT_MS)],
    )
    for (const { game_id, players } of sums) peaks.set(game_id, Number(players))
  }
  return peaks
}

/** Returns the increments of each game's own row. */
function totalsOf(counts: readonly Count[]): [string, number, number][] {
  const totals = new Map<string, [string, number, number]>()
  for (const { gameId, plays, signIns } of counts) {
    const [, playsBefore, signInsBefore] = totals.get(gameId) ?? [gameId, 0, 0]
    totals.set(gameId, [gameId, playsBefore + plays, signInsBefore + signIns])
  }
  return [...totals.values()].filter(([, plays, signIns]) => plays + signIns > 0)
}

async function inParts<Row>(
  em: SqlEntityManager,
  rows: readonly Row[],
  statement: (rows: readonly Row[]) => { sql: string; values: Parameter[] },
): Promise<void> {
  for (let from = 0; from < rows.length; from += ROWS) {
    const { sql, values } = statement(rows.slice(from, from + ROWS))
    await em.execute(sql, values, 'run')
  }
}
