import { LockMode } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import type { Quotas } from '../quotas/index.ts'
import { ChangedName, DeployRow, DeployUpload, ManifestRow } from './entities.ts'
import { COUNTED, OVER, releaseStorage } from './stored-bytes.ts'

/**
 * Deletes the builds of a permanently deleted game, each in a transaction of its own: on SQLite nobody else writes during
 * one, and a build of 20,000 files takes a tenth of a second.
 */
export async function deleteBuilds(
  { db, quotas }: Pick<FastifyInstance, 'db' | 'quotas'>,
  gameId: string,
  signal?: AbortSignal,
): Promise<void> {
  const deploys = await db.query<{ id: string }>(
    'select id from deploys where game_id = ? and state not in (?, ?) order by id',
    [gameId, ...OVER],
  )
  for (const { id } of deploys) {
    if (signal?.aborted) return
    await db.transaction((em) => deleteDeploys(em, quotas, { gameId, id }))
  }
}

/** Deletes all other data of a permanently deleted game. The next garbage collection removes the bytes of the builds. */
export async function deleteGameData(em: SqlEntityManager, quotas: Quotas, gameId: string): Promise<void> {
  await deleteDeploys(em, quotas, { gameId })
  await em.nativeDelete(ChangedName, { gameId })
}

async function deleteDeploys(em: SqlEntityManager, quotas: Quotas, which: { gameId: string; id?: string }) {
  const deploys = await em.find(DeployRow, which, { fields: ['id', 'state'], lockMode: LockMode.PESSIMISTIC_WRITE })
  const counted = deploys.filter(({ state }) => COUNTED.includes(state))
  await releaseStorage(
    em,
    quotas,
    counted.map(({ id }) => id),
  )
  const deployId = { $in: deploys.map(({ id }) => id) }
  await em.nativeDelete(DeployUpload, { deployId })
  await em.nativeDelete(ManifestRow, { deployId })
  await em.nativeDelete(DeployRow, which)
}

/**
 * Ends the deploys of a deleted game that wait for their files, so that they count no more. A restored game has to
 * announce them again.
 */
export async function endOpenDeploys(em: SqlEntityManager, quotas: Quotas, gameId: string): Promise<void> {
  const open = await em.find(
    DeployRow,
    { gameId, state: { $in: ['uploading', 'finalizing'] } },
    { fields: ['id'], lockMode: LockMode.PESSIMISTIC_WRITE },
  )
  const ids = open.map(({ id }) => id)
  if (ids.length === 0) return
  await em.nativeUpdate(DeployRow, { id: { $in: ids } }, { state: 'expired' })
  await em.nativeDelete(DeployUpload, { deployId: { $in: ids } })
  await releaseStorage(em, quotas, ids)
}
