import type { FastifyInstance } from 'fastify'
import { inPages } from '../../core/http/pagination.ts'
import { CreditEntry, CreditPurchase } from './entities.ts'

type Parts = Pick<FastifyInstance, 'db'>

/** Exports the ledger of a player in pages, oldest first. */
export async function* exportLedger({ db }: Parts, playerId: string): AsyncGenerator<unknown[]> {
  const pages = inPages<CreditEntry>((after, limit) =>
    db
      .em()
      .find(CreditEntry, { playerId, id: { $gt: after?.id ?? '' } }, { orderBy: { id: 'asc' }, limit, ...UNTRACKED }),
  )
  for await (const rows of pages) {
    yield rows.map(({ id, amount, kind, description, createdAt }) => ({ id, amount, kind, description, createdAt }))
  }
}

/** Exports the purchases that a player began, in pages, oldest first. */
export async function* exportPurchases({ db }: Parts, playerId: string): AsyncGenerator<unknown[]> {
  const pages = inPages<CreditPurchase>((after, limit) =>
    db
      .em()
      .find(
        CreditPurchase,
        { playerId, id: { $gt: after?.id ?? '' } },
        { orderBy: { id: 'asc' }, limit, ...UNTRACKED },
      ),
  )
  for await (const rows of pages) yield rows.map(({ playerId: _, ...purchase }) => ({ ...purchase }))
}

const UNTRACKED = { disableIdentityMap: true } as const
