import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Clock } from '../../../core/clock.ts'
import { Consent } from '../oauth/entities.ts'
import { endGrants } from '../oauth/grants.ts'
import { PlayerRow } from '../players/entities.ts'
import { type ChangedApp, OAuthAppRow, SignInCount } from './entities.ts'

/** Deletes an application with all its grants, in the caller's transaction. */
export async function deleteApp(em: SqlEntityManager, { id, clientId }: OAuthAppRow): Promise<void> {
  await endGrants(em, { clientId })
  await em.nativeDelete(Consent, { clientId })
  await em.nativeDelete(SignInCount, { clientId })
  await em.nativeDelete(OAuthAppRow, { id })
}

/**
 * Deletes every application of a player whose account ends, in that transaction.
 *
 * @returns the values to pass to `Apps.announce` after the commit
 */
export async function deleteAppsOfPlayer(em: SqlEntityManager, ownerId: string): Promise<ChangedApp[]> {
  const rows = await em.find(OAuthAppRow, { ownerId })
  for (const row of rows) await deleteApp(em, row)
  return rows
}

/**
 * Deletes the application of a permanently deleted game, in the caller's transaction. Other applications that were
 * linked to the game are unlinked, and deleted if the account of the game's owner has ended.
 *
 * @param game `clientId` of its own application
 * @returns the values to pass to `Apps.announce` after the commit
 */
export async function deleteAppsOfGame(
  em: SqlEntityManager,
  clock: Clock,
  game: { id: string; clientId: string; ownerId: string },
): Promise<ChangedApp[]> {
  const rows = await em.find(OAuthAppRow, { $or: [{ clientId: game.clientId }, { gameId: game.id }] })
  const ownerless = (await em.count(PlayerRow, { id: game.ownerId })) === 0
  for (const row of rows) if (ownerless || row.clientId === game.clientId) await deleteApp(em, row)
  await em.nativeUpdate(OAuthAppRow, { gameId: game.id }, { gameId: null, updatedAt: clock.now() })
  return rows
}
