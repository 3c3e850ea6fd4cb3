import type { FastifyInstance } from 'fastify'
import { loss } from '../oauth-idp/index.ts'
import { recordActivity } from './activity/record.ts'
import { isOwnAddress, originsOf } from './addresses/own-addresses.ts'
import { exportInvitations, exportMemberships } from './members/export-members.ts'

/** Connects games with the accounts and the OAuth applications: what these ask about games, and what games follow. */
export function connectIdentity(app: FastifyInstance): void {
  app.identity.apps.checkGamesWith((playerId, gameId) => app.games.mustOwn(playerId, gameId))
  app.identity.apps.noteRotationsWith((em, gameId) => recordActivity(em, app.clock, { gameId, action: 'game.secret' }))
  app.identity.apps.findGamesWith({
    serves: (clientId, address) => isOwnAddress(app, app.games, { clientId, address }),
    originsOf: (clientIds) => originsOf(app, clientIds),
  })
  app.identity.suspendedClients.checkWith((client) => app.games.isSuspended(client))
  app.identity.administration.onDisabling((em, playerId, disabled) =>
    app.games.suspensions.followAccount(em, playerId, disabled),
  )
  app.identity.administration.onTrusting((em, playerId, by) => app.games.approvals.publishAllOf(em, playerId, by))
  contributeToDeletion(app)
}

/** What of the games belongs to an account: in its export, and at its deletion. */
function contributeToDeletion(app: FastifyInstance): void {
  const { deletion } = app.identity
  deletion.shared.push(app.games.handOver)
  deletion.losses.push(async (playerId) => loss(await app.games.handOver.countUnshared(playerId), 'game'))
  deletion.exporters.set('games', (playerId) => app.games.export(playerId))
  deletion.exporters.set('activity', (playerId) => app.games.activity.export(playerId))
  deletion.exporters.set('activityInOthersGames', (playerId) => app.games.activity.exportElsewhere(playerId))
  deletion.exporters.set('memberships', (playerId) => exportMemberships(app, playerId))
  deletion.exporters.set('invitations', (playerId) => exportInvitations(app, playerId))
  deletion.cleanups.push((em, playerId) => app.games.activity.removeAllOf(em, playerId))
  deletion.cleanups.push((em, playerId) => app.games.deletion.removeAllOf(em, playerId))
  deletion.cleanups.push((em, playerId) => app.games.members.removeAllOf(em, playerId))
  deletion.cleanups.push((em, playerId) => app.games.memberInvitations.removeAllOf(em, playerId))
  deletion.cleanups.push((em, playerId) => app.games.transfers.removeAllOf(em, playerId))
  app.events.on('player.deleted', ({ playerId }) => app.games.deletion.forget(playerId))
}
