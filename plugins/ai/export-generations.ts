import type { FastifyInstance } from 'fastify'
import { inPages } from '../../core/http/pagination.ts'
import { GenerationRow } from './entities.ts'

/** Exports the generations that a player paid, in pages. The prompts and answers are not stored. */
export async function* exportGenerations({ db }: Pick<FastifyInstance, 'db'>, playerId: string) {
  const pages = inPages<GenerationRow>((after, limit) =>
    db
      .em()
      .find(
        GenerationRow,
        { playerId, id: { $gt: after?.id ?? '' } },
        { orderBy: { id: 'asc' }, limit, disableIdentityMap: true },
      ),
  )
  for await (const rows of pages) {
    yield rows.map(({ id, gameId, type, model, credits, createdAt }) => ({
      id,
      gameId,
      type,
      model,
      credits,
      createdAt,
    }))
  }
}
