import type { FastifyInstance } from 'fastify'
import type { Parameter } from '../../../core/data/database.ts'
import { tagOfTerm, termOfTag, termsOfQuery } from '../../../core/data/search-terms.ts'
import { type TagCount, TagCounts } from '../../../core/data/tag-counts.ts'
import { cutPage, fitsColumn, mustBeCursor, OtherCursor, type PageQuery } from '../../../core/http/pagination.ts'
import { tagOf } from '../../../core/tags.ts'
import { type FeatureTerm, termsOfFilter } from '../features/features.ts'
import { type GameReader, readGames } from '../read-games.ts'
import type { CatalogQuery, Game } from '../schemas.ts'
import { LISTED, MADE, READY, SHOWN } from '../visibility.ts'

/** A condition on a game, and its values. */
type Condition = [sql: string, ...values: Parameter[]]

/** What a game must have: a term of the search, a tag or a feature. Each is a row of an index table. */
interface Key {
  table: 'game_terms' | 'game_features'
  /** The condition on the row, with the alias `k`. */
  where: string
  values: Parameter[]
}

const keyOfTerm = (term: string): Key => ({ table: 'game_terms', where: 'k.term = ?', values: [term] })

const keyOfFeature = ({ field, value }: FeatureTerm): Key => ({
  table: 'game_features',
  where: 'k.field = ? and k.value = ?',
  values: [field, value],
})

const has = ({ table, where, values }: Key): Condition => [
  `exists (select 1 from ${table} k where ${where} and k.game_id = g.id)`,
  ...values,
]

/** Keys with so many games or more are common. */
const COMMON = 1000

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
    const list = await this.#gamesOf(query, sort)
    const { id } = list
    const conditions: Condition[] = [...list.conditions, [SHOWN]]
    if (ready) conditions.push([READY])
    const before = sort === 'new' ? mustBeCursor('gam', cursor) : undefined
    if (before) conditions.push([`${id} < ?`, before])
    if (cursor && sort === 'popular') {
      const [, plays, last] = /^(\d{1,10})\.(gam_\w{26})$/.exec(cursor) ?? []
      if (!fitsColumn(Number(plays), 'integer') || !last) throw new OtherCursor()
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

  /**
   * Chooses how to read a list: the games of its rarest key, each of which is looked up under the other keys, or if even
   * that key is common, the most played games in their order until the page is full.
   */
  async #gamesOf({ q, tag, ...filter }: Omit<CatalogQuery, 'sort' | 'limit' | 'cursor'>, sort: string) {
    // The longest word is usually the rarest.
    const [word, ...words] = (q ? termsOfQuery(q) : []).sort((a, b) => b.length - a.length).map(keyOfTerm)
    const candidates = [
      ...(word ? [word] : []),
      ...(tag ? [keyOfTerm(termOfTag(tagOf(tag)))] : []),
      ...termsOfFilter(filter).map(keyOfFeature),
    ]
    const counts = await Promise.all(
      candidates.length > 1 || sort === 'popular' ? candidates.map((key) => this.#countUpTo(COMMON, key)) : [0],
    )
    const least = Math.min(...counts)
    const rarest = candidates[counts.indexOf(least)]
    if (!rarest || (sort === 'popular' && least === COMMON))
      return { from: 'games g', id: 'g.id', conditions: [...candidates, ...words].map(has) }
    const others = [...candidates.filter((key) => key !== rarest), ...words]
    return {
      // SQLite joins the tables of a cross join in this order, and so reads the games of a key from the newest on. It can
      // stop once the page is full.
      from: `${rarest.table} k cross join games g`,
      id: 'k.game_id',
      conditions: [[`${rarest.where} and g.id = k.game_id`, ...rarest.values] as Condition, ...others.map(has)],
    }
  }

  /** Counts the games of a key, those that nobody may see included, at most up to a number. */
  async #countUpTo(most: number, { table, where, values }: Key): Promise<number> {
    const [row] = await this.#parts.db.query<{ games: number }>(
      `select count(*) as games from (select 1 from ${table} k where ${where} limit ${most}) counted`,
      values,
    )
    return Number(row?.games ?? 0)
  }

  /** Returns those of the given games that anybody may play now, in the order of the ids. */
  async among(ids: readonly string[]): Promise<Game[]> {
    if (ids.length === 0) return []
    const where = `${LISTED} and g.id in (${ids.map(() => '?').join(', ')})`
    const games = await readGames(this.#parts, { where, order: 'g.id', values: [...ids], limit: ids.length })
    return games.sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id))
  }

  /** Lists the games that a player makes and anybody may play now, the newest first. */
  async ofMaker(playerId: string, { limit, cursor }: PageQuery): Promise<{ shown: Game[]; nextCursor: string | null }> {
    const before = mustBeCursor('gam', cursor)
    const where = `${MADE} and ${LISTED}${before ? ' and g.id < ?' : ''}`
    const values = [playerId, playerId, ...(before ? [before] : [])]
    const found = await readGames(this.#parts, { where, order: 'g.id desc', values, limit: limit + 1 })
    const { page, nextCursor } = cutPage(found, limit)
    return { shown: page, nextCursor }
  }

  /** Returns the number of these games and of their plays. */
  async sumsOfMaker(playerId: string): Promise<{ games: number; plays: number }> {
    const [row] = await this.#parts.db.query<{ games: number; plays: number | null }>(
      `select count(*) as games, sum(g.plays) as plays from games g
       where ${MADE} and ${LISTED} and g.deleted_at is null`,
      [playerId, playerId],
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
