import type { FastifyInstance } from 'fastify'
import type { Parameter } from '../../../core/data/database.ts'
import { tagOfTerm, termOfTag, termsOfQuery } from '../../../core/data/search-terms.ts'
import { type TagCount, TagCounts } from '../../../core/data/tag-counts.ts'
import { InvalidRequest } from '../../../core/errors.ts'
import { cutPage, fitsColumn, type PageQuery } from '../../../core/http/pagination.ts'
import { type GameReader, readGames } from '../read-games.ts'
import type { CatalogQuery, Game } from '../schemas.ts'
import { LISTED, READY, SHOWN } from '../visibility.ts'

const FOUND_BY = 'exists (select 1 from game_terms o where o.term = ? and o.game_id = g.id)'

/** Search and listing of public games. */
export class Catalog {
  readonly #parts: GameReader & Pick<FastifyInstance, 'clock'>
  readonly #tags: TagCounts

  constructor(parts: GameReader & Pick<FastifyInstance, 'clock' | 'events'>) {
    this.#parts = parts
    const shownOf = async (ids: readonly string[]) => (await this.among(ids)).map(({ id }) => id)
    this.#tags = new TagCounts({ count: () => this.#countTags(), shownOf }, parts.clock)
    parts.events.on('game.changed', ({ gameId }) => this.#tags.noteChange(gameId))
  }

  /**
   * Returns one page, newest or most played first.
   *
   * @param ready only games with something to play now
   * @throws InvalidRequest for a cursor of another list
   */
  async page(
    { q, tag, sort, limit, cursor }: CatalogQuery,
    { ready = false } = {},
  ): Promise<{ games: Game[]; nextCursor: string | null }> {
    // The longest term is usually the rarest. The query reads its games and looks up the other terms for each.
    const words = (q ? termsOfQuery(q) : []).sort((a, b) => b.length - a.length)
    const terms = [...words, ...(tag ? [termOfTag(tag)] : [])]
    const id = terms.length > 0 ? 't.game_id' : 'g.id'
    const where = [SHOWN]
    if (terms.length > 0) where.unshift('t.term = ? and g.id = t.game_id', ...terms.slice(1).map(() => FOUND_BY))
    const values: Parameter[] = [...terms]
    if (ready) where.push(READY)
    if (cursor && sort === 'new') {
      where.push(`${id} < ?`)
      values.push(cursor)
    }
    if (cursor && sort === 'popular') {
      const [, plays, last] = /^(\d{1,10})\.(gam_\w{26})$/.exec(cursor) ?? []
      if (!fitsColumn(Number(plays), 'integer') || !last)
        throw new InvalidRequest('The cursor is not one of this list.')
      where.push('(g.plays < ? or (g.plays = ? and g.id < ?))')
      values.push(Number(plays), Number(plays), last)
    }
    const found = await readGames(this.#parts, {
      // SQLite joins the tables of a cross join in this order, and so reads the games of a term from the newest on. It
      // can stop once the page is full.
      ...(terms.length > 0 ? { from: 'game_terms t cross join games g' } : {}),
      where: where.join(' and '),
      order: sort === 'popular' ? 'g.plays desc, g.id desc' : `${id} desc`,
      values,
      limit: limit + 1,
    })
    const games = found.slice(0, limit)
    const last = found.length > limit ? games.at(-1) : undefined
    const nextCursor = last ? (sort === 'popular' ? `${last.stats.plays}.${last.id}` : last.id) : null
    return { games, nextCursor }
  }

  /** Returns those of the given games that anybody may play now, in the order of the ids. */
  async among(ids: readonly string[]): Promise<Game[]> {
    if (ids.length === 0) return []
    const where = `${LISTED} and g.id in (${ids.map(() => '?').join(', ')})`
    const games = await readGames(this.#parts, { where, order: 'g.id', values: [...ids], limit: ids.length })
    return games.sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id))
  }

  /** Lists a player's games that anybody may play now, the newest first. */
  async ofOwner(ownerId: string, { limit, cursor }: PageQuery): Promise<{ shown: Game[]; nextCursor: string | null }> {
    const where = `g.owner_id = ? and ${LISTED}${cursor ? ' and g.id < ?' : ''}`
    const values = [ownerId, ...(cursor ? [cursor] : [])]
    const found = await readGames(this.#parts, { where, order: 'g.id desc', values, limit: limit + 1 })
    const { page, nextCursor } = cutPage(found, limit)
    return { shown: page, nextCursor }
  }

  /** Returns the number of these games and of their plays. */
  async sumsOfOwner(ownerId: string): Promise<{ games: number; plays: number }> {
    const [row] = await this.#parts.db.query<{ games: number; plays: number | null }>(
      `select count(*) as games, sum(g.plays) as plays from games g
       where g.owner_id = ? and ${LISTED} and g.deleted_at is null`,
      [ownerId],
    )
    return { games: Number(row?.games ?? 0), plays: Number(row?.plays ?? 0) }
  }

  /** Lists the most frequent tags of playable games. */
  tags(): Promise<TagCount[]> {
    return this.#tags.get()
  }

  async #countTags(): Promise<TagCount[]> {
    const rows = await this.#parts.db.query<{ term: string; games: number }>(
      `select t.term, count(*) as games from game_terms t join games g on g.id = t.game_id
       where t.is_tag = ? and g.deleted_at is null and ${LISTED}
       group by t.term order by games desc, t.term limit 24`,
      [true],
    )
    return rows.map(({ term, games }) => ({ tag: tagOfTerm(term), count: Number(games) }))
  }
}
