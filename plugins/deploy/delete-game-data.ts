import { LockMode } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Quotas } from '../quotas/index.ts'
import { DeployRow, DeployUpload, ManifestRow } from './entities.ts'
import { COUNTED, releaseStorage } from './stored-bytes.ts'

/** Removes what is kept of a game that is gone for good; its bytes go with the next collection of garbage. */
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
}
