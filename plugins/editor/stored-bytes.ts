import type { FastifyInstance } from 'fastify'
import type { StoredKind } from '../quotas/index.ts'

/** The kind under which the files of drafts count in the quota of their game's owner. */
export const STORED_KIND = 'drafts'

/** Bytes of drafts. Each content counts once, however many drafts of the owner have it. */
export function storedDrafts(app: FastifyInstance): StoredKind {
  return {
    label: 'Drafts',
    async owners() {
      const rows = await app.db.query<{ id: string }>(
        'select distinct g.owner_id as id from draft_files f join games g on g.id = f.game_id where f.sha256 is not null',
      )
      return rows.map(({ id }) => id)
    },
    async tally(ownerId) {
      const blobs = await app.db.query<{ sha256: string; bytes: number | string }>(
        `select f.sha256, f.size as bytes from draft_files f join games g on g.id = f.game_id
         where g.owner_id = ? and f.sha256 is not null`,
        [ownerId],
      )
      return { bytes: 0, blobs: blobs.map(({ sha256, bytes }) => ({ sha256, bytes: Number(bytes) })) }
    },
    async things(ownerId) {
      const rows = await app.db.query<DraftSize>(
        `select g.id, g.title, g.slug, d.updated_at as "updatedAt", sum(f.size) as bytes,
           case when g.deleted_at is null then 0 else 1 end as deleted
         from draft_files f join drafts d on d.game_id = f.game_id join games g on g.id = f.game_id
         where g.owner_id = ? group by g.id, g.title, g.slug, d.updated_at, g.deleted_at order by g.id`,
        [ownerId],
      )
      return rows.map(({ id, title, slug, updatedAt, bytes, deleted }) => ({
        kind: STORED_KIND,
        id,
        title: `${title}: the draft`,
        bytes: Number(bytes),
        frees: Number(bytes),
        createdAt: new Date(updatedAt).toISOString(),
        url: deleted ? `${app.origins.portal}/games` : `${app.origins.portal}/games/${slug}/code`,
        removable: !deleted,
      }))
    },
    remove: (ownerId, gameId) => app.drafts.discard(ownerId, gameId),
    async *ofGame(em, gameId) {
      const blobs = await em.execute<{ sha256: string; bytes: number | string }[]>(
        'select sha256, size as bytes from draft_files where game_id = ? and sha256 is not null',
        [gameId],
      )
      yield { bytes: 0, blobs: blobs.map(({ sha256, bytes }) => ({ sha256, bytes: Number(bytes) })) }
    },
  }
}

interface DraftSize {
  id: string
  title: string
  slug: string
  updatedAt: number
  bytes: number | string
  deleted: number
}
