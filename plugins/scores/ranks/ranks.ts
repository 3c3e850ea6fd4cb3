import type { Statements } from '../../../core/data/database.ts'
import { inChunks } from './chunks.ts'

/** One list of entries with ranks: a board in a period. */
export interface Ranking {
  board: string
  period: number
}

/** The levels of the tree that counts entries; see tree.ts. */
export const LEAF = 1
export const GROUP = 2

/**
 * SQL of the rank of a key among the entries of a ranking: 1 and the number of better entries. These are in the groups
 * before that of the key, in the leaves of its group before its own, and in its leaf.
 *
 * The statement has a table `k` with `board`, `period`, `key`, and `LOWS`.
 */
export const RANK = `(1
  + coalesce((select sum(n.entries) from score_nodes n
    where n.board = k.board and n.period = k.period and n.level = ${GROUP} and n.low < k.grp), 0)
  + coalesce((select sum(n.entries) from score_nodes n
    where n.board = k.board and n.period = k.period and n.level = ${LEAF} and n.low >= k.grp and n.low < k.leaf), 0)
  + (select count(*) from score_entries e
    where e.board = k.board and e.period = k.period and e.sort_key >= k.leaf and e.sort_key < k.key))`

/** SQL of the leaf and the group of a key, by their lowest keys, in a statement with a table `c` of rankings and keys. */
export const LOWS = `(select max(n.low) from score_nodes n
    where n.board = c.board and n.period = c.period and n.level = ${LEAF} and n.low <= c.key) as leaf,
  (select max(n.low) from score_nodes n
    where n.board = c.board and n.period = c.period and n.level = ${GROUP} and n.low <= c.key) as grp`

/** SQL of the number of entries of a ranking; takes board and period as parameters. */
export const TOTAL = `coalesce((select sum(n.entries) from score_nodes n
  where n.board = ? and n.period = ? and n.level = ${GROUP}), 0)`

/** Returns the ranks of keys, by key, and the number of entries. */
export async function ranksOf(
  statements: Pick<Statements, 'query'>,
  { board, period }: Ranking,
  keys: readonly number[],
): Promise<{ ranks: Map<number, number>; total: number }> {
  const ranks = new Map<number, number>()
  let total = 0
  for (const part of inChunks([...new Set(keys)])) {
    const rows = await statements.query<{ key: number; rank: number; total: number }>(
      `with c as (select cast(? as varchar(12)) as board, cast(? as integer) as period, v.column1 as key
         from (values ${part.map(() => '(cast(? as bigint))').join(', ')}) v),
       k as materialized (select c.board, c.period, c.key, ${LOWS} from c)
       select k.key as key, ${RANK} as rank, ${TOTAL} as total from k`,
      [board, period, ...part, board, period],
    )
    for (const row of rows) {
      ranks.set(Number(row.key), Number(row.rank))
      total = Number(row.total)
    }
  }
  return { ranks, total }
}
