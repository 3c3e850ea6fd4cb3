import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import type { Quotas, StoredKind } from '../quotas/index.ts'
import type { StoredFile } from './record.ts'

/** The kind under which assets count in their owners' quotas. */
export const STORED_KIND = 'assets'

interface Row {
  id: string
  ownerId: string
  slug: string
  title: string
  curated: number | boolean
  createdAt: number
  files: string | StoredFile[]
  lodSize: number | null
  clips: number | string
  applied: number | string
}

const COLUMNS = `a.id, a.owner_id as "ownerId", a.slug, a.title, a.curated, a.created_at as "createdAt", a.files,
  a.lod_size as "lodSize",
  (select coalesce(sum(c.size), 0) from asset_clips c where c.asset_id = a.id) as clips,
  (select coalesce(sum(c.size), 0) from asset_applied_clips c where c.asset_id = a.id) as applied`

/**
 * The storage of players' assets: the files, the simplified form, and the clips, which are copies of the model. Assets
 * share no blobs, so identical files of two assets count twice.
 */
export function storedAssets(app: FastifyInstance): StoredKind {
  const read = (ownerId: string) =>
    app.db.query<Row>(`select ${COLUMNS} from assets a where a.owner_id = ? order by a.id`, [ownerId])
  return {
    label: 'Assets',
    async owners() {
      return (await app.db.query<{ id: string }>('select distinct owner_id as id from assets')).map(({ id }) => id)
    },
    async tally(ownerId) {
      return { bytes: (await read(ownerId)).reduce((sum, row) => sum + bytesOf(row), 0), blobs: [] }
    },
    async things(ownerId) {
      return (await read(ownerId)).map((row) => ({
        kind: STORED_KIND,
        id: row.id,
        title: row.title,
        bytes: bytesOf(row),
        frees: bytesOf(row),
        createdAt: new Date(row.createdAt).toISOString(),
        url: `${app.origins.studio}/assets/${row.slug}`,
        removable: !row.curated,
      }))
    },
    remove: (ownerId, id) => app.assets.changes.remove(ownerId, id),
  }
}

/**
 * Subtracts assets from their owners' quotas in the transaction that removes them. The caller holds locks on their
 * rows.
 */
export async function releaseAssets(em: SqlEntityManager, quotas: Quotas, assetIds: string[]): Promise<void> {
  if (assetIds.length === 0) return
  const marks = assetIds.map(() => '?').join(', ')
  const rows = await em.execute<Row[]>(
    `select ${COLUMNS} from assets a where a.id in (${marks}) order by a.owner_id, a.id`,
    assetIds,
  )
  const byOwner = Map.groupBy(rows, ({ ownerId }) => ownerId)
  for (const [ownerId, own] of byOwner) {
    await quotas.remove(em, ownerId, { kind: STORED_KIND, bytes: own.reduce((sum, row) => sum + bytesOf(row), 0) })
  }
}

function bytesOf({ files, lodSize, clips, applied }: Row): number {
  // SQLite and prepared statements return text. PostgreSQL's own driver returns parsed JSON.
  const list = typeof files === 'string' ? (JSON.parse(files) as StoredFile[]) : files
  return list.reduce((sum, { size }) => sum + size, 0) + (lodSize ?? 0) + Number(clips) + Number(applied)
}
