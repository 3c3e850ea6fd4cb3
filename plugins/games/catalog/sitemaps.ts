import type { Database } from '../../../core/data/database.ts'
import type { SitemapSource } from '../../../core/pages/sitemap.ts'

/** The number of games in a part. It is far below the protocol's limit, so that one response stays small. */
const PART = 5_000

/** Public, playable games in the order of creation, so that a new game changes only the last part. */
const LISTED = `visibility = 'public' and deleted_at is null and suspended_at is null and playable = ?
  and (live_deploy_id is not null or external_url is not null)`

/** The pages of public games. */
export const gamePages = (db: Database, size = PART): SitemapSource => ({
  name: 'games',
  async starts() {
    const rows = await db.query<{ id: string }>(
      `select id from (select id, row_number() over (order by id) as place from games where ${LISTED}) listed
       where place % ? = 1 order by id`,
      [true, size],
    )
    return rows.map(({ id }) => id)
  },
  async pages(start) {
    const rows = await db.query<{ slug: string; updated_at: number }>(
      `select slug, updated_at from games where ${LISTED} and id >= ? order by id limit ?`,
      [true, start, size],
    )
    return rows.map(({ slug, updated_at }) => ({
      path: `/games/${slug}`,
      changedAt: new Date(updated_at).toISOString(),
    }))
  },
})

/** The sitemap of list pages. */
export const listPages: SitemapSource = {
  name: 'pages',
  starts: async () => ['all'],
  pages: async (start) => (start === 'all' ? [{ path: '/' }, { path: '/catalog' }] : []),
}
