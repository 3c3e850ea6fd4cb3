import type { Database } from '../../../core/data/database.ts'
import type { SitemapSource } from '../../../core/pages/sitemap.ts'
import { LISTED } from '../visibility.ts'

/** The number of games in a part. It is far below the protocol's limit, so that one response stays small. */
const PART = 5_000

/** Public, playable games in the order of creation, so that a new game changes only the last part. */
const PAGES = `from games g where ${LISTED} and g.deleted_at is null`

/** The pages of public games. */
export const gamePages = (db: Database, size = PART): SitemapSource => ({
  name: 'games',
  async starts() {
    const rows = await db.query<{ id: string }>(
      `select id from (select g.id, row_number() over (order by g.id) as place ${PAGES}) listed
       where place % ? = 1 order by id`,
      [size],
    )
    return rows.map(({ id }) => id)
  },
  async pages(start) {
    const rows = await db.query<{ slug: string; updated_at: number }>(
      `select g.slug, g.updated_at ${PAGES} and g.id >= ? order by g.id limit ?`,
      [start, size],
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
