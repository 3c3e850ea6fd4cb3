import type { FastifyInstance } from 'fastify'
import type { Parameter } from '../../../core/data/database.ts'
import { tagOfTerm, termOfTag, termsOfQuery } from '../../../core/data/search-terms.ts'
import { type TagCount, TagCounts } from '../../../core/data/tag-counts.ts'
import { InvalidRequest } from '../../../core/errors.ts'
import { cutPage, fitsColumn, type PageQuery } from '../../../core/http/pagination.ts'
import { termsOfFilter } from '../features/features.ts'
import { type GameReader, readGames } from '../read-games.ts'
import type { CatalogQuery, Game } from '../schemas.ts'
import { LISTED, READY, SHOWN } from '../visibility.ts'

/** A condition on a game, and its values. */
type Condition = [sql: string, ...values: Parameter[]]

/** Where a list reads from, the column of its ids, and what a game in it must have. */
interface GamesOfQuery {
  from: string
  id: string
  conditions: Condition[]
}

/**
 * Reads the games of one term or feature, and looks up the others for each. SQLite joins the tables of a cross join in
 * this order, and so reads the games of a term from the newest on. It can stop once the page is full.
 */
function listFor({ q, tag, ...filter }: Omit<CatalogQuery, 'sort' | 'limit' | 'cursor'>): GamesOfQuery {
  // The longest term is usually the rarest.
  const words = (q ? termsOfQuery(q) : []).sort((a, b) => b.length - a.length)
  const [term, ...terms] = [...words, ...(tag ? [termOfTag(tag)] : [])]
  const features = termsOfFilter(filter)
  const feature = term === undefined ? features.shift() : undefined
  const others = [
    ...terms.map((other): Condition => [HAS_TERM, other]),
    ...features.map(({ field, value }): Condition => [HAS_FEATURE, field, value]),
  ]
  if (term !== undefined)
    return {
      from: 'game_terms t cross join games g',
      id: 't.game_id',
      conditions: [['t.term = ? and g.id = t.game_id', term], ...others],
    }
  if (feature)
    return {
      from: 'game_features f cross join games g',
      id: 'f.game_id',
      conditions: [['f.field = ? and f.value = ? and g.id = f.game_id', feature.field, feature.value], ...others],
    }
  return { from: 'games g', id: 'g.id', conditions: [] }
}

const HAS_TERM = 'exists (select 1 from game_terms o where o.term = ? and o.game_id = g.id)'
const HAS_FEATURE = 'exists (select 1 from game_features o where o.field = ? and o.value = ? and o.game_id = g.id)'

/** Search and listing of public games. */
export class Catalog {
  readonly #parts: GameReader & Pick<FastifyInstance, 'clock'>
  readonly #tags: TagCounts
  readonly #languages: TagCounts

  constructor(parts: GameReader & Pick<FastifyInstance, 'clock' | 'events'>) {
    this.#parts = parts
    const shownOf = async (ids: readonly string[]) => (await this.among(ids)).map(({ id }) => id)
    this.#tags = new TagCounts({ count: () => this.#countTags(), shownOf }, parts.clock)
    this.#languages = new TagCounts({ count: () => this.#countLanguages(), shownOf }, parts.clock)
    parts.events.on('game.changed', ({ gameId }) => {
      this.#tags.noteChange(gameId)
      this.#languages.noteChange(gameId)
    })
  }

  /**
   * Returns one page, newest or most played first.
   *
   * @param ready only games with something to play now
   * @throws InvalidRequest for a cursor of another list, and for what is no language tag
   */
  async page(
    { sort, limit, cursor, ...query }: CatalogQuery,
    { ready = false } = {},
  ): Promise<{ games: Game[]; nextCursor: string | null }> {
    const list = listFor(query)
    const { id } = list
    const conditions: Condition[] = [...list.conditions, [SHOWN]]
    if (ready) conditions.push([READY])
    if (cursor && sort === 'new') conditions.push([`${id} < ?`, cursor])
    if (cursor && sort === 'popular') {
      const [, plays, last] = /^(\d{1,10})\.(gam_\w{26})$/.exec(cursor) ?? []
      if (!fitsColumn(Number(plays), 'integer') || !last)
        throw new InvalidRequest('The cursor is not one of this list.')
      conditions.push(['(g.plays < ? or (g.plays = ? and g.id < ?))', Number(plays), Number(plays), last])
    }
    const found = await readGames(this.#parts, {
      from: list.from,
      where: conditions.map(([sql]) => sql).join(' and '),
      order: sort === 'popular' ? 'g.plays desc, g.id desc' : `${id} desc`,
      values: conditions.flatMap(([, ...values]) => values),
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

  /** Lists the languages of playable games, the most frequent first. */
  languages(): Promise<TagCount[]> {
    return this.#languages.get()
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

  async #countLanguages(): Promise<TagCount[]> {
    const rows = await this.#parts.db.query<{ value: string; games: number }>(
      `select f.value, count(*) as games from game_features f join games g on g.id = f.game_id
       where f.field = 'language' and g.deleted_at is null and ${LISTED}
       group by f.value order by games desc, f.value limit 60`,
    )
    return rows.map(({ value, games }) => ({ tag: value, count: Number(games) }))
  }
}
