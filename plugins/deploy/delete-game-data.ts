import type { SqlEntityManager } from '@mikro-orm/sql'
import { DeployRow, DeployUpload, ManifestRow } from './entities.ts'

/** Removes what is kept of a game that is gone for good; its bytes go with the next collection of garbage. */
export async function deleteGameData(em: SqlEntityManager, gameId: string): Promise<void> {
  const deploys = await em.find(DeployRow, { gameId }, { fields: ['id'] })
  const deployId = { $in: deploys.map(({ id }) => id) }
  await em.nativeDelete(DeployUpload, { deployId })
  await em.nativeDelete(ManifestRow, { deployId })
  await em.nativeDelete(DeployRow, { gameId })
}
