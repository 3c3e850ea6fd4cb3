import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Forbidden } from '../../core/errors.ts'
import { isFromPageOf } from '../../core/origins/same-origin.ts'
import { signInRequired } from '../game-edge/index.ts'
import type { Game } from '../games/index.ts'
import { OtherPlayer, PreviewScores } from './errors.ts'

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

/** Returns the game at whose origin a request was made, and its player. A preview shows the boards of its game. */
export async function gameHere(app: FastifyInstance, request: FastifyRequest) {
  const { isPreview, game } = await originOf(app, request)
  const session = await app.edge.sessionOf(request, game)
  return { isPreview, game, playerId: session?.player.id ?? null }
}

/**
 * Does the same for a request that writes.
 *
 * @throws Forbidden when it comes from another origin: pages of a sibling game on the same site send this game's cookies
 * @throws Unauthorized without a session
 * @throws OtherPlayer when the page names another player than that of the session
 * @throws PreviewScores
 */
export async function writerHere(app: FastifyInstance, request: FastifyRequest) {
  const { isPreview, game } = await originOf(app, request)
  if (!isFromPageOf(request.headers, app.edge.originOf(request)))
    throw new Forbidden('Scores are for pages of the game itself.')
  if (isPreview) throw new PreviewScores()
  const session = await app.edge.sessionOf(request, game)
  if (!session) throw signInRequired('Sign in to be on the board.')
  // A page that was loaded before another player signed in here.
  const meant = request.headers['service-player']
  if (meant !== undefined && meant !== session.player.id) throw new OtherPlayer()
  return { game, playerId: session.player.id }
}

async function originOf(app: FastifyInstance, request: FastifyRequest) {
  const site = app.origins.of(request.raw)
  const isPreview = site.kind === 'game' && site.preview !== null
  return { isPreview, game: await (isPreview ? app.edge.signInGame(request) : app.edge.gameOf(request)) }
}
