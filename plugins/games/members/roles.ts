import type { Game } from '../schemas.ts'

/** What a player is in a game of another player. */
export type MemberRole = 'maker' | 'tester'
export type GameRole = 'owner' | MemberRole

/**
 * What a player may do with a game beyond what everybody may:
 *
 * - `test`: see and play it while it is private, and its previews;
 * - `make`: deploy, change and read all that belongs to it;
 * - `own`: delete it, change its address, its members and its client secret, and answer a suspension.
 */
export type GameAction = 'test' | 'make' | 'own'

const ALLOWED: Record<GameRole, readonly GameAction[]> = {
  owner: ['test', 'make', 'own'],
  maker: ['test', 'make'],
  tester: ['test'],
}

/** Whether a role allows an action. Everything that depends on who asks for a game asks this. */
export const allows = (role: GameRole | null, action: GameAction): boolean =>
  role !== null && ALLOWED[role].includes(action)

/** Returns the role of a player, or of a visitor (null), in a game; null for none. */
export function roleOf(
  playerId: string | null,
  { ownerId, makerIds, testerIds }: Pick<Game, 'ownerId' | 'makerIds' | 'testerIds'>,
): GameRole | null {
  if (playerId === null) return null
  if (playerId === ownerId) return 'owner'
  if (makerIds.includes(playerId)) return 'maker'
  return testerIds.includes(playerId) ? 'tester' : null
}
