import { setImmediate as nextTurn } from 'node:timers/promises'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Database } from '../../core/data/database.ts'

/** The number of players whose bytes are added up in one statement. Other work gets a turn before the next one. */
const PAGE = 2000

/** Adds bytes to the totals of games, in the transaction that counts them. A negative number subtracts. */
export async function addToTotals(em: SqlEntityManager, grown: ReadonlyMap<string, number>): Promise<void> {
  // The rows are sorted, so that concurrent transactions do not deadlock.
  for (const [gameId, bytes] of [...grown].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (bytes === 0) continue
    await em.execute(
      `insert into save_totals (game_id, counted_bytes) values (?, ?)
       on conflict (game_id) do update set counted_bytes = save_totals.counted_bytes + excluded.counted_bytes`,
      [gameId, bytes],
      'run',
    )
  }
}

/** Removes the total of a game. @returns its bytes */
export async function removeTotal(em: SqlEntityManager, gameId: string): Promise<number> {
  const [row] = await em.execute<{ bytes: number | string }[]>(
    'delete from save_totals where game_id = ? returning counted_bytes as bytes',
    [gameId],
    'all',
  )
  return Number(row?.bytes ?? 0)
}

/**
 * Adds up the counted bytes of a game's players, and corrects the total of the game if it differs. It reads in pages, so
 * the total stays unless it is still the one from before.
 *
 * @returns the sum
 */
export async function recountTotal(db: Database, gameId: string): Promise<number> {
  const [noted] = await db.query<{ bytes: number | string }>(
    'select counted_bytes as bytes from save_totals where game_id = ?',
    [gameId],
  )
  let sum = 0
  for (let last = '', more = true; more; ) {
    const [page] = await db.query<{ players: number | string; last: string | null; bytes: number | string | null }>(
      `select count(*) as players, max(player_id) as last, sum(counted_bytes) as bytes from (
         select player_id, counted_bytes from save_usage where game_id = ? and player_id > ? order by player_id limit ?
       ) as page`,
      [gameId, last, PAGE],
    )
    sum += Number(page?.bytes ?? 0)
    last = page?.last ?? last
    more = Number(page?.players) === PAGE
    if (more) await nextTurn()
  }
  if (Number(noted?.bytes ?? 0) === sum) return sum
  await db.transaction((em) =>
    noted
      ? em.execute(
          'update save_totals set counted_bytes = ? where game_id = ? and counted_bytes = ?',
          [sum, gameId, noted.bytes],
          'run',
        )
      : em.execute(
          'insert into save_totals (game_id, counted_bytes) values (?, ?) on conflict do nothing',
          [gameId, sum],
          'run',
        ),
  )
  return sum
}
