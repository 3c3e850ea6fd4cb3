import type { FastifyInstance } from 'fastify'
import type { Parameter } from '../../core/data/database.ts'
import { tagOfTerm, termOfTag, termsOfQuery } from '../../core/data/search-terms.ts'
import { type TagCount, TagCounts } from '../../core/data/tag-counts.ts'
import { cutPage, inPages, mustBeCursor } from '../../core/http/pagination.ts'
import { tagOf } from '../../core/tags.ts'
import { type Loss, loss } from '../oauth-idp/index.ts'
import { choicesOf, correctLicense, nameOfChoice } from './license.ts'
import { type AssetReader, readAssets } from './read-assets.ts'
import type { AssetRecord } from './record.ts'
import type { AssetQuery } from './schemas.ts'

const FOUND_BY = 'a.id in (select t.asset_id from asset_terms t where t.term = ?)'

/** The number of files that a page lists, since each pack has up to a thousand. The first asset may have more. */
const MOST_FILES = 5000

/** The number of licenses that the library lists. */
const MOST_LICENSES = 8

/** Selects what anybody may see. */
const SHOWN = "a.visibility = 'public' and a.suspended_at is null"

/** Search and listing of assets. */
export class Library {
  readonly #parts: AssetReader
  readonly #tags: TagCounts
  readonly #licenses: TagCounts

  constructor(parts: AssetReader & Pick<FastifyInstance, 'clock' | 'events'>) {
    this.#parts = parts
    const shownOf = (ids: readonly string[]) => this.#shownOf(ids)
    this.#tags = new TagCounts({ count: () => this.#countTags(), shownOf }, parts.clock)
    this.#licenses = new TagCounts({ count: () => this.#countLicenses(), shownOf }, parts.clock)
    for (const event of ['asset.changed', 'asset.deleted'] as const) {
      parts.events.on(event, ({ assetId }) => {
        this.#tags.noteChange(assetId)
        this.#licenses.noteChange(assetId)
      })
    }
  }

  /**
   * Returns one page of public assets, newest first, or, with `ownerId`, of all assets of a player, or, with `gameId`, of
   * all assets of a game. Only the latter two say to which game an asset belongs.
   *
   * @param query `owner` is the name that the caller has resolved to `ownerId`
   * @param options.gameId a game that the viewer makes
   * @param options.files without them, `files` is empty; with them, the page ends early after `MOST_FILES`
   */
  async page(
    query: Omit<AssetQuery, 'owner' | 'gameId'>,
    ownerId: string | null = null,
    { files = true, gameId = null }: { files?: boolean; gameId?: string | null } = {},
  ): Promise<{ assets: AssetRecord[]; nextCursor: string | null }> {
    const { q, tag, license, kind, curated, rigged, limit, cursor } = query
    const isPublic = ownerId === null && gameId === null
    const where = isPublic ? [SHOWN] : []
    const values: Parameter[] = []
    const narrow = (condition: string, value: Parameter | undefined) => {
      if (value === undefined) return
      where.push(condition)
      values.push(value)
    }
    narrow('a.owner_id = ?', ownerId ?? undefined)
    narrow('a.game_id = ?', gameId ?? undefined)
    for (const term of [...(q ? termsOfQuery(q) : []), ...(tag ? [termOfTag(tagOf(tag))] : [])]) narrow(FOUND_BY, term)
    if (license) {
      const names = choicesOf(correctLicense(license)).map(nameOfChoice)
      const places = names.map(() => '?').join(', ')
      where.push(`a.id in (select l.asset_id from asset_licenses l where l.license in (${places}))`)
      values.push(...names)
    }
    narrow('a.kind = ?', kind)
    narrow('a.curated = ?', curated)
    narrow('a.rigged = ?', rigged)
    narrow('a.id < ?', mustBeCursor('ast', cursor))
    const condition = where.join(' and ')
    if (!files) {
      const found = await readAssets(this.#parts, { where: condition, values, limit: limit + 1, files })
      const { page, nextCursor } = cutPage(found, limit)
      return { assets: isPublic ? page.map(withoutGame) : page, nextCursor }
    }
    const { page, nextCursor } = cutPage(await this.#readIds(condition, values, limit + 1), limit)
    const shown = page.slice(0, within(page, MOST_FILES))
    const ids = shown.map(({ id }) => id)
    if (ids.length === 0) return { assets: [], nextCursor: null }
    const assets = await readAssets(this.#parts, {
      where: `a.id in (${ids.map(() => '?').join(', ')})`,
      values: ids,
      limit: ids.length,
    })
    const listed = isPublic ? assets.map(withoutGame) : assets
    return { assets: listed, nextCursor: shown.length < page.length ? (ids.at(-1) ?? null) : nextCursor }
  }

  #readIds(where: string, values: readonly Parameter[], limit: number): Promise<{ id: string; files: number }[]> {
    return this.#parts.db.query(
      `select a.id, coalesce(a.file_count, case when a.kind = 'pack' then 1000 else 1 end) as files from assets a where ${where} order by a.id desc limit ?`,
      [...values, limit],
    )
  }

  /** Returns the attributions of a game's assets, those of the newest first. @param limit the most */
  async attributionsOf(gameId: string, limit: number): Promise<string[]> {
    const where = 'a.game_id = ? and (a.license is not null or a.author is not null)'
    const assets = await readAssets(this.#parts, { where, values: [gameId], limit, files: false })
    return assets.flatMap(({ attribution }) => attribution ?? [])
  }

  /** Counts the assets that go with an account, and those among them of games that others make as well. */
  async lossOf(ownerId: string): Promise<Loss | null> {
    const [row] = await this.#parts.db.query<{ assets: number | string; shared: number | string }>(
      `select count(*) as assets, count(case when exists
         (select 1 from games g where g.id = a.game_id and g.deleted_at is null and (g.owner_id <> a.owner_id or exists
           (select 1 from game_members m where m.game_id = g.id and m.role = 'maker' and m.player_id <> a.owner_id)))
         then 1 end) as shared
       from assets a where a.owner_id = ? and a.curated = ?`,
      [ownerId, false],
    )
    const shared = Number(row?.shared ?? 0)
    const note = `${shared} of the assets ${shared === 1 ? 'belongs to a game' : 'belong to games'} that others can go on with.`
    return loss(row?.assets, 'asset', shared > 0 ? note : undefined)
  }

  /** Exports a player's assets in pages: their metadata, and the addresses of their files. */
  async *export(ownerId: string): AsyncGenerator<unknown[]> {
    const pages = inPages<AssetRecord>((after, limit) => {
      const where = after ? 'a.owner_id = ? and a.id < ?' : 'a.owner_id = ?'
      return readAssets(this.#parts, { where, values: after ? [ownerId, after.id] : [ownerId], limit })
    })
    for await (const assets of pages) {
      yield assets.map(
        ({
          lodSha256: _,
          thumbnailSha256: __,
          humanoid: ____,
          preparedBy: _____,
          appeal: ______,
          files,
          ...asset
        }) => ({
          ...asset,
          files: files.map(({ crc32: ___, ...file }) => file),
        }),
      )
    }
  }

  /** Lists the most frequent tags of public assets. */
  tags(): Promise<TagCount[]> {
    return this.#tags.get()
  }

  /** Lists the most frequent licenses of public assets, each as a `tag`. */
  licenses(): Promise<TagCount[]> {
    return this.#licenses.get()
  }

  async #countTags(): Promise<TagCount[]> {
    const rows = await this.#parts.db.query<{ term: string; assets: number }>(
      `select t.term, count(*) as assets from asset_terms t join assets a on a.id = t.asset_id
       where t.is_tag = ? and ${SHOWN} group by t.term order by assets desc, t.term limit 16`,
      [true],
    )
    return rows.map(({ term, assets }) => ({ tag: tagOfTerm(term), count: Number(assets) }))
  }

  async #countLicenses(): Promise<TagCount[]> {
    const rows = await this.#parts.db.query<{ license: string; assets: number }>(
      `select a.license, count(*) as assets from assets a where a.license is not null and ${SHOWN} group by a.license`,
    )
    const counts = new Map<string, number>()
    for (const { license, assets } of rows)
      for (const choice of choicesOf(license)) counts.set(choice, (counts.get(choice) ?? 0) + Number(assets))
    const listed = [...counts].map(([tag, count]) => ({ tag, count }))
    return listed
      .sort((one, other) => other.count - one.count || (one.tag < other.tag ? -1 : 1))
      .slice(0, MOST_LICENSES)
  }

  async #shownOf(ids: readonly string[]): Promise<string[]> {
    const rows = await this.#parts.db.query<{ id: string }>(
      `select a.id from assets a where ${SHOWN} and a.id in (${ids.map(() => '?').join(', ')})`,
      [...ids],
    )
    return rows.map(({ id }) => id)
  }
}

/** To which game an asset belongs is for its makers. */
const withoutGame = (asset: AssetRecord): AssetRecord => ({ ...asset, gameId: null })

/** Returns the number of assets whose files are at most `most` together; at least one. */
function within(assets: readonly { files: number }[], most: number): number {
  let sum = 0
  const at = assets.findIndex(({ files }, index) => {
    sum += Number(files)
    return sum > most && index > 0
  })
  return at === -1 ? assets.length : at
}
