import type { FastifyInstance } from 'fastify'
import { inPages } from '../../core/http/pagination.ts'
import { DeployRow } from './entities.ts'

/** Exports the deploys that a player made in games of other players, in pages, for their data export. */
export async function* exportDeploys({ db }: Pick<FastifyInstance, 'db'>, playerId: string): AsyncGenerator<unknown[]> {
  const pages = inPages<DeployRow>((after, limit) =>
    db
      .em()
      .find(
        DeployRow,
        { playerId, ownerId: { $ne: playerId }, id: { $gt: after?.id ?? '' } },
        { orderBy: { id: 'asc' }, limit, disableIdentityMap: true },
      ),
  )
  for await (const rows of pages) {
    yield rows.map(({ id, gameId, state, message, createdAt }) => ({ id, gameId, state, message, createdAt }))
  }
}
