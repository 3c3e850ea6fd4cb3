import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import { inPages } from '../../core/http/pagination.ts'
import type { Quotas, StoredKind, StoredThing } from '../quotas/index.ts'
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
  /** Null where the bytes are counted. */
  files: string | StoredFile[] | null
  fileBytes: number | string | null
  lodSize: number | null
  clips: number | string
  applied: number | string
}

const COLUMNS = `a.id, a.owner_id as "ownerId", a.slug, a.title, a.curated, a.created_at as "createdAt",
  case when a.file_bytes is null then a.files end as files, a.file_bytes as "fileBytes",
  a.lod_size as "lodSize",
  (select coalesce(sum(c.size), 0) from asset_clips c where c.asset_id = a.id) as clips,
  (select coalesce(sum(c.size), 0) from asset_applied_clips c where c.asset_id = a.id) as applied`

/**
 * The storage of players' assets: the files, the simplified form, and the clips, which are copies of the model. Assets
 * share no blobs, so identical files of two assets count twice.
 */
export function storedAssets(app: FastifyInstance): StoredKind {
  const read = (ownerId: string) =>
    inPages<Row>((after, limit) =>
      app.db.query(`select ${COLUMNS} from assets a where a.owner_id = ? and a.id > ? order by a.id limit ?`, [
        ownerId,
        after?.id ?? '',
        limit,
      ]),
    )
  return {
    label: 'Assets',
    async owners() {
      return (await app.db.query<{ id: string }>('select distinct owner_id as id from assets')).map(({ id }) => id)
    },
    async tally(ownerId) {
      let bytes = 0
      for await (const rows of read(ownerId)) bytes += sumOf(rows)
      return { bytes, blobs: [] }
    },
    async things(ownerId) {
      const things: StoredThing[] = []
      for await (const rows of read(ownerId)) things.push(...rows.map((row) => thingOf(row, app.origins.studio)))
      return things
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
    await quotas.remove(em, ownerId, { kind: STORED_KIND, bytes: sumOf(own) })
  }
}

function thingOf(row: Row, studio: string): StoredThing {
  const { id, title, slug, curated } = row
  const bytes = bytesOf(row)
  const createdAt = new Date(row.createdAt).toISOString()
  const url = `${studio}/assets/${slug}`
  return { kind: STORED_KIND, id, title, bytes, frees: bytes, createdAt, url, removable: !curated }
}

const sumOf = (rows: readonly Row[]): number => rows.reduce((sum, row) => sum + bytesOf(row), 0)

function bytesOf({ files, fileBytes, lodSize, clips, applied }: Row): number {
  // SQLite and prepared statements return text. PostgreSQL's own driver returns parsed JSON.
  const list = typeof files === 'string' ? (JSON.parse(files) as StoredFile[]) : (files ?? [])
  return (
    list.reduce((sum, { size }) => sum + size, Number(fileBytes ?? 0)) +
    (lodSize ?? 0) +
    Number(clips) +
    Number(applied)
  )
}
