import { LockMode } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Quotas } from '../quotas/index.ts'
import { ChangedName, DeployRow, DeployUpload, ManifestRow } from './entities.ts'
import { COUNTED, releaseStorage } from './stored-bytes.ts'

/** Deletes all data of a permanently deleted game. The next garbage collection removes its bytes. */
export async function deleteGameData(em: SqlEntityManager, quotas: Quotas, gameId: string): Promise<void> {
  const deploys = await em.find(
    DeployRow,
    { gameId },
    { fields: ['id', 'state'], lockMode: LockMode.PESSIMISTIC_WRITE },
  )
  const counted = deploys.filter(({ state }) => COUNTED.includes(state))
  await releaseStorage(
    em,
    quotas,
    counted.map(({ id }) => id),
  )
  const deployId = { $in: deploys.map(({ id }) => id) }
  await em.nativeDelete(DeployUpload, { deployId })
  await em.nativeDelete(ManifestRow, { deployId })
  await em.nativeDelete(DeployRow, { gameId })
  await em.nativeDelete(ChangedName, { gameId })
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
