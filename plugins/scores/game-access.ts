import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Game } from '../games/index.ts'
import { PreviewScores } from './errors.ts'

/**
 * Returns a game whose boards the caller may see on the portal.
 *
 * @throws NotFound also for a private game that the caller may not see
 * @throws Suspended
 */
export async function visibleGame(
  { games }: Pick<FastifyInstance, 'games'>,
  playerId: string | null,
  idOrSlug: string,
): Promise<Game> {
  return games.mustSee(playerId, idOrSlug)
}

/** Returns the game of a page, and its player. A preview shows the boards of its game. */
export async function gameHere(app: FastifyInstance, request: FastifyRequest) {
  const { game, isPreview } = await app.edge.gameOfPage(request)
  const session = await app.edge.sessionOf(request, game)
  return { isPreview, game, playerId: session?.player.id ?? null }
}

/**
 * Does the same for a request that writes.
 *
 * @throws PreviewScores, Forbidden, Unauthorized, OtherPlayer
 */
export async function writerHere(app: FastifyInstance, request: FastifyRequest) {
  const { game, isPreview } = await app.edge.gameOfPage(request)
  if (isPreview) throw new PreviewScores()
  const playerId = await app.edge.playerOfPage(request, game, {
    otherOrigin: 'Scores are for pages of the game itself.',
    signedOut: 'Sign in to be on the board.',
  })
  return { game, playerId }
}
