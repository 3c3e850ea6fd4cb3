import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Database } from '../../../core/data/database.ts'
import { TooManyApplications } from '../errors.ts'
import { OAuthAppRow } from './entities.ts'

/**
 * Requires that a player may register one more application, in the transaction that does. Those of games that are
 * hosted here have the limit of games.
 *
 * @param most `limits.applicationsPerPlayer`
 * @throws TooManyApplications
 */
export async function mustHaveRoomForApp(
  em: SqlEntityManager,
  { db, ownerId, most }: { db: Pick<Database, 'dialect'>; ownerId: string; most: number },
): Promise<void> {
  // Parallel requests count each other's applications. SQLite has one writer anyway.
  if (db.dialect === 'postgres') await em.execute('select id from players where id = ? for no key update', [ownerId])
  if ((await em.count(OAuthAppRow, { ownerId, hosted: false })) >= most) throw new TooManyApplications(most)
}
