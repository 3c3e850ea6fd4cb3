import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import { timeOfId } from '../../../core/ids.ts'
import type { Quotas, StoredKind } from '../../quotas/index.ts'
import { GameRow } from '../entities.ts'
import type { StoredMedia } from './record.ts'

/** The kind under which pictures and videos of games count in their owners' quotas. */
export const STORED_KIND = 'media'

/** The storage of players' pictures and videos. Those of deleted games count until the game is permanently deleted. */
export function storedMedia(app: FastifyInstance): StoredKind {
  const read = async (ownerId: string) => {
    const games = await app.db.query<{ id: string; slug: string; title: string; deleted: number; media: string }>(
      `select id, slug, title, case when deleted_at is null then 0 else 1 end as deleted, media from games
       where owner_id = ? order by id`,
      [ownerId],
    )
    return games.map((game) => ({ ...game, media: JSON.parse(game.media) as StoredMedia[] }))
  }
  return {
    label: 'Pictures and videos of games',
    async owners() {
      return (await app.db.query<{ id: string }>('select distinct owner_id as id from games')).map(({ id }) => id)
    },
    async tally(ownerId) {
      const games = await read(ownerId)
      return { bytes: games.reduce((sum, { media }) => sum + bytesOf(media), 0), blobs: [] }
    },
    async things(ownerId) {
      const { portal } = app.origins
      return (await read(ownerId)).flatMap(({ id: gameId, slug, title, deleted, media }) =>
        media.map(({ id, size, contentType }) => ({
          kind: STORED_KIND,
          id: `${gameId}/${id}`,
          title: `${title}: ${contentType.startsWith('video/') ? 'a video' : 'a picture'}${deleted ? ' of the deleted game' : ''}`,
          bytes: size,
          frees: size,
          createdAt: timeOfId(id).toISOString(),
          url: deleted ? `${portal}/games` : `${portal}/games/${slug}/settings#media`,
          removable: !deleted,
        })),
      )
    },
    async remove(ownerId, id) {
      const [gameId = '', mediaId = ''] = id.split('/')
      await app.games.media.remove(ownerId, gameId, mediaId)
    },
    async *ofGame(em, gameId) {
      const game = await em.findOne(GameRow, { id: gameId }, { fields: ['media'], disableIdentityMap: true })
      yield { bytes: bytesOf(game?.media ?? []), blobs: [] }
    },
  }
}

/** Subtracts the media of a permanently deleted game from its owner's quota, in the same transaction. */
export async function releaseMedia(em: SqlEntityManager, quotas: Quotas, gameId: string): Promise<void> {
  const game = await em.findOne(GameRow, { id: gameId }, { fields: ['ownerId', 'media'] })
  if (game && game.media.length > 0) {
    await quotas.remove(em, game.ownerId, { kind: STORED_KIND, bytes: bytesOf(game.media) })
  }
}

const bytesOf = (media: readonly StoredMedia[]): number => media.reduce((sum, { size }) => sum + size, 0)
