import type { SqlEntityManager } from '@mikro-orm/sql'
import { TooManyOpenDeploys } from './errors.ts'

/**
 * Requires that a player may begin another deploy. Each open one has rows for all of its files, whether they arrive or
 * not.
 *
 * @param em a transaction that holds the quota account of the player; without one the answer is only an early one
 * @param limit the number of deploys of one player that wait for their files
 * @throws TooManyOpenDeploys with the ids of the open ones beside the error
 */
export async function mustHaveFewOpen(em: SqlEntityManager, ownerId: string, limit: number): Promise<void> {
  const open = await em.execute<{ id: string }[]>(
    `select id from deploys where owner_id = ? and state in ('uploading', 'finalizing') order by id limit ?`,
    [ownerId, limit],
  )
  if (open.length < limit) return
  throw new TooManyOpenDeploys(limit).with({ body: { limit, open: open.map(({ id }) => id) } })
}
