import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Clock } from '../../../core/clock.ts'
import { type ChangedApp, OAuthAppRow } from './entities.ts'

/**
 * Gives the application of a game to its new owner, in the caller's transaction. Other applications that the former owner
 * has linked to the game stay theirs, and are unlinked.
 *
 * @param game `clientId` of its own application
 * @returns the values to pass to `Apps.announce` after the commit
 */
export async function transferAppsOfGame(
  em: SqlEntityManager,
  clock: Clock,
  game: { id: string; clientId: string; fromId: string; toId: string },
): Promise<ChangedApp[]> {
  const updatedAt = clock.now()
  const owned = { ownerId: game.fromId, $or: [{ clientId: game.clientId }, { gameId: game.id }] }
  const rows = await em.find(OAuthAppRow, owned, { disableIdentityMap: true })
  await em.nativeUpdate(OAuthAppRow, { clientId: game.clientId }, { ownerId: game.toId, updatedAt })
  await em.nativeUpdate(OAuthAppRow, { gameId: game.id, ownerId: game.fromId }, { gameId: null, updatedAt })
  return rows
}
