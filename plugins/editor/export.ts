import type { FastifyInstance } from 'fastify'
import { inPages } from '../../core/http/pagination.ts'

interface PlainFile {
  gameId: string
  path: string
  size: number | string
  sha256: string | null
  at: number
}

interface ExportedFile {
  gameId: string
  path: string
  size: number
  removed: boolean
  updatedAt: string
  url: string
}

/** Returns the drafts in a player's games in pages, for their data export: paths and sizes, and where each file is. */
export async function* exportDrafts(
  { db, origins }: Pick<FastifyInstance, 'db' | 'origins'>,
  playerId: string,
): AsyncGenerator<ExportedFile[]> {
  const pages = inPages<PlainFile>((after, limit) =>
    db.query(
      `select f.game_id as "gameId", f.path, f.size, f.sha256, f.updated_at as at
       from draft_files f join games g on g.id = f.game_id
       where g.owner_id = ? and (f.game_id, f.path) > (?, ?) order by f.game_id, f.path limit ?`,
      [playerId, after?.gameId ?? '', after?.path ?? '', limit],
    ),
  )
  for await (const rows of pages) {
    yield rows.map(({ gameId, path, size, sha256, at }) => ({
      gameId,
      path,
      size: Number(size),
      removed: sha256 === null,
      updatedAt: new Date(at).toISOString(),
      url: `${origins.portal}/api/games/${gameId}/draft/files/${encodeURIComponent(path)}`,
    }))
  }
}
