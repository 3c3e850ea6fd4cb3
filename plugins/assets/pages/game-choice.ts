import type { FastifyInstance } from 'fastify'
import type { Game } from '../../games/index.ts'
import type { AssetRecord } from '../record.ts'

/** A game in a form, as its id and title. */
export interface GameChoice {
  value: string
  label: string
}

/** The maximum number of games in a form; the API takes every game. */
const MOST_GAMES = 100

export const NO_GAME: GameChoice = { value: '', label: 'None' }
export const GAME_HINT = 'Everybody who makes this game may see and change the asset.'

/** Returns the newest games that a player makes. @param slug a game that is among them whatever its age */
export async function gamesToChoose(
  { games }: Pick<FastifyInstance, 'games'>,
  playerId: string,
  slug?: string,
): Promise<{ choices: GameChoice[]; chosen: string | undefined }> {
  const listed = (await games.list(playerId, { limit: MOST_GAMES })).games
  const asked = slug === undefined ? null : await games.bySlug(slug)
  const chosen = asked && games.may(playerId, asked, 'make') ? asked : null
  const shown = chosen && !listed.some(({ id }) => id === chosen.id) ? [chosen, ...listed] : listed
  return { choices: shown.map(({ id, title }) => ({ value: id, label: title })), chosen: chosen?.id }
}

/** Returns the game of an asset if the viewer makes it; otherwise null. */
export async function gameOf(
  { games }: Pick<FastifyInstance, 'games'>,
  viewerId: string | null,
  { gameId }: Pick<AssetRecord, 'gameId'>,
): Promise<Game | null> {
  const game = gameId === null ? null : await games.byId(gameId)
  return game && games.may(viewerId, game, 'make') ? game : null
}

/**
 * Returns the games among which a player may choose for an asset: for its owner those that the player makes, and for
 * the owner of its game that one. Other makers have no choice.
 *
 * @returns null for no choice
 */
export async function gamesFor(
  app: Pick<FastifyInstance, 'games'>,
  playerId: string,
  asset: AssetRecord,
): Promise<GameChoice[] | null> {
  const game = await gameOf(app, playerId, asset)
  const current = { value: asset.gameId ?? '', label: game?.title ?? 'A game that you no longer make' }
  if (playerId !== asset.ownerId) return game && app.games.may(playerId, game, 'own') ? [NO_GAME, current] : null
  const { choices } = await gamesToChoose(app, playerId)
  if (asset.gameId === null) return choices.length > 0 ? [NO_GAME, ...choices] : null
  return [NO_GAME, ...(choices.some(({ value }) => value === asset.gameId) ? [] : [current]), ...choices]
}
