import type { Database, Parameter } from '../../core/data/database.ts'
import type { Origins } from '../../core/origins/origins.ts'
import { COLUMNS, type PlainGame, toGame } from './record.ts'
import type { Game } from './schemas.ts'

/** The dependencies of `readGames`. */
export interface GameReader {
  db: Database
  origins: Origins
}

/**
 * Reads games that are not deleted.
 *
 * @param query `where` on the table `games g`, values as `?`; `from` where other tables come before it
 */
export async function readGames(
  { db, origins }: GameReader,
  query: {
    from?: string
    where: string
    order: string
    values: readonly Parameter[]
    limit: number
    /** Reads only games that are deleted and not yet gone for good. */
    deleted?: boolean
  },
): Promise<Game[]> {
  const { from = 'games g', where, order, values, limit, deleted = false } = query
  const rows = await db.query<PlainGame>(
    `select ${COLUMNS} from ${from} where ${where} and g.deleted_at is ${deleted ? 'not null and g.erased_at is null' : 'null'}
     order by ${order} limit ?`,
    [...values, limit],
  )
  return rows.map((row) => toGame(row, origins))
}
