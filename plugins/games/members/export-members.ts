import type { FastifyInstance } from 'fastify'
import { inPages } from '../../../core/http/pagination.ts'
import { GameInvitation, GameMember } from './entities.ts'

/** Exports the memberships of a player in games of other players, in pages, for their data export. */
export async function* exportMemberships(
  { db }: Pick<FastifyInstance, 'db'>,
  playerId: string,
): AsyncGenerator<unknown[]> {
  const pages = inPages<GameMember>((after, limit) =>
    db
      .em()
      .find(
        GameMember,
        { playerId, gameId: { $gt: after?.gameId ?? '' } },
        { orderBy: { gameId: 'asc' }, limit, disableIdentityMap: true },
      ),
  )
  for await (const rows of pages) yield rows.map(({ gameId, role, since }) => ({ gameId, role, since }))
}

/** Exports the invitations that a player sent, with the addresses of mails, and those that the player received. */
export async function* exportInvitations(
  { db }: Pick<FastifyInstance, 'db'>,
  playerId: string,
): AsyncGenerator<unknown[]> {
  for (const [direction, whose] of [
    ['sent', { invitedBy: playerId }],
    ['received', { playerId }],
  ] as const) {
    const pages = inPages<GameInvitation>((after, limit) =>
      db
        .em()
        .find(
          GameInvitation,
          { ...whose, id: { $gt: after?.id ?? '' } },
          { orderBy: { id: 'asc' }, limit, disableIdentityMap: true },
        ),
    )
    for await (const rows of pages) {
      yield rows.map(({ id, gameId, role, email, createdAt, expiresAt, revokedAt, declinedAt, ...row }) => ({
        direction,
        id,
        gameId,
        role,
        ...(direction === 'sent' ? { playerId: row.playerId, email } : {}),
        createdAt,
        expiresAt,
        revokedAt,
        declinedAt,
      }))
    }
  }
}
