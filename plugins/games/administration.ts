import type { Parameter } from '../../core/data/database.ts'
import { termsOfQuery } from '../../core/data/search-terms.ts'
import { cutPage, mustBeCursor, type PageQuery } from '../../core/http/pagination.ts'
import { isId } from '../../core/ids.ts'
import { type GameReader, readGames } from './read-games.ts'
import type { Game, GameChanges } from './schemas.ts'

/** A game in the list of the staff. */
export type ListedGame = Game & {
  /** Whether its owner has deleted it, and can restore it. */
  isDeleted?: boolean
}

/** The part of `Games` that administration needs. It avoids a cyclic dependency: `Games` contains administration. */
interface ChangeableGames {
  get(idOrSlug: string): Promise<Game>
  evenDeleted(id: string): Promise<ListedGame | null>
  update(playerId: string, gameId: string, changes: GameChanges): Promise<Game>
}

/** Actions of administrators on games. */
export class Administration {
  readonly #parts: GameReader
  readonly #games: ChangeableGames

  constructor(parts: GameReader, games: ChangeableGames) {
    this.#parts = parts
    this.#games = games
  }

  /**
   * Lists all games, the newest first.
   *
   * @param q prefixes of words of its title, its slug, the id of a player who makes it, or its own id, which also finds
   *   one that its owner has deleted and can restore
   */
  async list({
    q = '',
    limit,
    cursor,
  }: PageQuery & { q?: string | undefined }): Promise<{ games: ListedGame[]; nextCursor: string | null }> {
    const where = ['1 = 1']
    const values: Parameter[] = []
    const asked = q.trim()
    if (isId('gam', asked)) {
      const game = await this.#games.evenDeleted(asked)
      return { games: game ? [game] : [], nextCursor: null }
    }
    if (isId('ply', asked)) {
      where.push(`g.id in (select id from games where owner_id = ?
        union select game_id from game_members where player_id = ? and role = 'maker')`)
      values.push(asked, asked)
    } else if (asked) {
      const terms = termsOfQuery(asked)
      const found = terms.map(() => 'g.id in (select t.game_id from game_terms t where t.term = ?)').join(' and ')
      where.push(`(g.slug = ? or (${found}))`)
      values.push(asked.toLowerCase(), ...terms)
    }
    const before = mustBeCursor('gam', cursor)
    if (before) {
      where.push('g.id < ?')
      values.push(before)
    }
    const query = { where: where.join(' and '), order: 'g.id desc', values, limit: limit + 1 }
    const { page, nextCursor } = cutPage(await readGames(this.#parts, query), limit)
    return { games: page, nextCursor }
  }

  /** Returns the number of games. */
  async count(): Promise<number> {
    const [row] = await this.#parts.db.query<{ games: number }>(
      'select count(*) as games from games where deleted_at is null',
    )
    return Number(row?.games ?? 0)
  }

  /** Whether there is any playable game. */
  async anyToPlay(): Promise<boolean> {
    const rows = await this.#parts.db.query(
      'select id from games where deleted_at is null and (live_deploy_id is not null or external_url is not null) limit 1',
    )
    return rows.length > 0
  }
}
