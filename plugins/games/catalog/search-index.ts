import type { SqlEntityManager } from '@mikro-orm/sql'
import { termOfTag, termsOfText } from '../../../core/data/search-terms.ts'
import { GameFeature, GameTerm } from '../entities.ts'
import { termsOfFeatures } from '../features/features.ts'
import type { GameFeatures } from '../features/schemas.ts'

/** Stores the search terms of a game: the prefixes of the words of its title, and its tags. */
export async function indexGame(
  em: SqlEntityManager,
  game: { id: string; title: string; tags: readonly string[] },
): Promise<void> {
  const rows = [
    ...game.tags.map((tag) => ({ term: termOfTag(tag), gameId: game.id, isTag: true })),
    ...termsOfText(game.title).map((term) => ({ term, gameId: game.id, isTag: false })),
  ]
  await em.nativeDelete(GameTerm, { gameId: game.id })
  if (rows.length > 0) await em.insertMany(GameTerm, rows)
}

/** Stores what the catalog filters a game by. */
export async function indexFeatures(em: SqlEntityManager, gameId: string, features: GameFeatures): Promise<void> {
  const rows = termsOfFeatures(features).map((term) => ({ ...term, gameId }))
  await em.nativeDelete(GameFeature, { gameId })
  if (rows.length > 0) await em.insertMany(GameFeature, rows)
}
