import type { SqlEntityManager } from '@mikro-orm/sql'
import { termOfTag, termsOfText } from '../../../core/data/search-terms.ts'
import { GameTerm } from '../entities.ts'

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
