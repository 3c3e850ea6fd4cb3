import type { FastifyInstance } from 'fastify'
import type { AdmissionRevalidation } from './admission/revalidation.ts'
import type { Connections } from './connections.ts'
import type { Rooms } from './hosting/rooms.ts'

/** Applies changes of players, sign-ins, games and applications to the open rooms and their sockets. */
export function followEvents(
  app: FastifyInstance,
  { rooms, connections, revalidation }: { rooms: Rooms; connections: Connections; revalidation: AdmissionRevalidation },
): void {
  app.events.on('player.changed', async ({ playerId }) => {
    const occupied = rooms.withAccount(playerId)
    const player = occupied.length > 0 ? await app.identity.players.find(playerId) : null
    if (player) {
      for (const { room } of occupied) room.show({ sub: playerId, name: player.name, imageUrl: player.imageUrl })
    }
  })
  app.events.on('player.changed', async ({ playerId }) => {
    if (!connections.has(playerId)) return
    const standing = await app.identity.players.standing(playerId)
    connections.endUnless(playerId, (epoch) => standing !== null && !standing.disabled && standing.epoch === epoch)
    for (const sessionId of connections.sessionsOf(playerId)) {
      if (!(await app.identity.sessions.holds(sessionId))) connections.endOfSession(sessionId)
    }
  })
  app.events.on('session.ended', ({ sessionId }) => connections.endOfSession(sessionId))
  app.events.on('consent.revoked', ({ consentId }) => connections.endOf(consentId))
  app.events.on('game.changed', ({ gameId }) => revalidation.gameChanged(gameId))
  app.events.on('game.purged', ({ gameId }) => revalidation.gameChanged(gameId))
  app.events.on('rooms.restart', ({ gameId }) => rooms.restart(gameId))
  app.events.on('app.changed', ({ clientId }) => revalidation.appChanged(clientId))
}
