import type { FastifyInstance } from 'fastify'
import { STORED_KIND, storedMedia } from './media/stored-bytes.ts'

/** A deleted game counts, as its bytes do, until its data is gone. */
const COUNT_GAMES = 'select count(*) as things from games where owner_id = ? and erased_at is null'

/** Adds the games and their media to what a quota counts. */
export function contributeQuotas(app: FastifyInstance): void {
  app.quotas.counts.set('gamesPerPlayer', COUNT_GAMES)
  app.quotas.kinds.set(STORED_KIND, storedMedia(app))
}
