import { definePlugin } from '../../core/plugin.ts'
import { GameActivityRow } from './activity/entities.ts'
import { activityPages } from './activity/page.ts'
import { recordActivity } from './activity/record.ts'
import { activityRoutes } from './activity/routes.ts'
import { adoptAddresses, isOwnAddress, originsOf } from './addresses/own-addresses.ts'
import { followPorts } from './addresses/ports.ts'
import { cardRoutes } from './cards/routes.ts'
import { feed } from './catalog/feed.ts'
import { gamePages, listPages } from './catalog/sitemaps.ts'
import { contributeCounts } from './dashboard.ts'
import { GameDay, GameFeature, GamePresence, GameRow, GameSlug, GameTerm, GameVisitor } from './entities.ts'
import { Games } from './games.ts'
import { mediaRoutes } from './media/routes.ts'
import { STORED_KIND, storedMedia } from './media/stored-bytes.ts'
import { GameInvitation, GameMember, GameTransfer } from './members/entities.ts'
import { exportInvitations, exportMemberships } from './members/export-members.ts'
import { invitationPages } from './members/invitation-pages.ts'
import { memberPages } from './members/page.ts'
import { memberRoutes } from './members/routes.ts'
import { transferRoutes } from './members/transfer-routes.ts'
import { migration } from './migrations/2026_11_21_games.ts'
import { listsMigration } from './migrations/2026_11_21_games_lists.ts'
import { approvalMigration } from './migrations/2026_11_23_approval.ts'
import { liveSharedMemoryMigration } from './migrations/2026_11_23_live_shared_memory.ts'
import { playableListsMigration } from './migrations/2026_11_23_playable_lists.ts'
import { suspensionMigration } from './migrations/2026_11_23_suspension.ts'
import { activityMigration } from './migrations/2026_11_24_activity.ts'
import { deletionForGoodMigration } from './migrations/2026_11_26_deletion_for_good.ts'
import { featuresMigration } from './migrations/2026_11_26_features.ts'
import { gamesOfClientsMigration } from './migrations/2026_11_26_games_of_clients.ts'
import { membersMigration } from './migrations/2026_11_26_members.ts'
import { suspensionCauseMigration } from './migrations/2026_11_26_suspension_cause.ts'
import { activityOfPlayersMigration } from './migrations/2026_11_28_activity_of_players.ts'
import { transfersMigration } from './migrations/2026_11_28_game_transfers.ts'
import { invitationsByNameMigration } from './migrations/2026_11_28_invitations_by_name.ts'
import { storedBytesOfTransfersMigration } from './migrations/2026_11_28_stored_bytes_of_transfers.ts'
import { approvalPages, contributeApprovals } from './pages/approvals.ts'
import { redirectFormerAddresses } from './pages/former-addresses.ts'
import { handOverPages } from './pages/hand-over.ts'
import { contributeToHostDashboard, hostPages } from './pages/host.ts'
import { livePages } from './pages/live.ts'
import { overviewPages } from './pages/overview.ts'
import { ownerPages } from './pages/owner.ts'
import { playerPages } from './pages/player.ts'
import { publicPages } from './pages/public.ts'
import { pathOf } from './record.ts'
import { routes } from './routes.ts'
import { registerScheduledTasks } from './scheduled-tasks.ts'
import { GamesLimits } from './schemas.ts'

export { recordActivity } from './activity/record.ts'
export { Approvals } from './approvals.ts'
export type { GameColumn, GameTab, OwnerStat, PageSection, SettingsPage } from './dashboard.ts'
export { NotBasedOnLive, Suspended } from './errors.ts'
export { GameLookup } from './game-lookup.ts'
export { receivedInvitations } from './members/invitation-pages.ts'
export { ownerAndMakersOf } from './members/members.ts'
export { holdGamesOf, holdOwners } from './members/ownership.ts'
export { dashboardHeader } from './pages/dashboard.ts'
export { NEW_GAME_STEPS } from './pages/form.ts'
export { gameTitle } from './pages/game-title.ts'
export { Game } from './schemas.ts'
export { suspensionsOfGames } from './suspension.ts'

declare module 'fastify' {
  interface FastifyInstance {
    games: Games
  }
}

/** A deleted game counts, as its bytes do, until its data is gone. */
const COUNT_GAMES = 'select count(*) as things from games where owner_id = ? and erased_at is null'

/** Games: their names, addresses, visibility, and pages on the portal. */
export default definePlugin(
  {
    name: 'games',
    dependencies: ['oauth-idp', 'tokens', 'quotas'],
    entities: [
      GameRow,
      GameSlug,
      GameTerm,
      GameFeature,
      GameDay,
      GameVisitor,
      GamePresence,
      GameActivityRow,
      GameMember,
      GameInvitation,
      GameTransfer,
    ],
    migrations: [
      migration,
      listsMigration,
      suspensionMigration,
      playableListsMigration,
      approvalMigration,
      liveSharedMemoryMigration,
      activityMigration,
      gamesOfClientsMigration,
      suspensionCauseMigration,
      deletionForGoodMigration,
      membersMigration,
      featuresMigration,
      transfersMigration,
      invitationsByNameMigration,
      activityOfPlayersMigration,
      storedBytesOfTransfersMigration,
    ],
    limits: GamesLimits,
  },
  async (app, _config, limits) => {
    app.decorate('games', new Games(app, limits))
    app.identity.apps.checkGamesWith((playerId, gameId) => app.games.mustOwn(playerId, gameId))
    app.identity.apps.noteRotationsWith((em, gameId) =>
      recordActivity(em, app.clock, { gameId, action: 'game.secret' }),
    )
    app.identity.apps.findGamesWith({
      serves: (clientId, address) => isOwnAddress(app, app.games, { clientId, address }),
      originsOf: (clientIds) => originsOf(app, clientIds),
    })
    app.quotas.counts.set('gamesPerPlayer', COUNT_GAMES)
    app.quotas.kinds.set(STORED_KIND, storedMedia(app))
    app.addHook('onReady', () => app.games.start())
    followPorts(app)
    app.addHook('onReady', () => adoptAddresses(app))
    app.addHook('onReady', () => app.games.suspensions.completeCauses())
    app.identity.suspendedClients.checkWith((client) => app.games.isSuspended(client))
    app.identity.administration.onDisabling((em, playerId, disabled) =>
      app.games.suspensions.followAccount(em, playerId, disabled),
    )
    app.identity.administration.onTrusting((em, playerId, by) => app.games.approvals.publishAllOf(em, playerId, by))
    const { deletion } = app.identity
    deletion.shared.push(app.games.handOver)
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
    app.games.dashboard.tabs.push(
      { label: 'Overview', order: 10, href: (game) => `${pathOf(game)}/overview` },
      { label: 'Sign-in', order: 30, href: (game) => `${pathOf(game)}/sign-in` },
      { label: 'Analytics', order: 70, href: (game) => `${pathOf(game)}/analytics` },
      { label: 'Activity', order: 75, href: (game) => `${pathOf(game)}/activity` },
      { label: 'Team', order: 77, href: (game) => `${pathOf(game)}/team` },
      { label: 'Settings', order: 80, href: (game) => `${pathOf(game)}/settings` },
      { label: 'Integrate', order: 90, href: (game) => `${pathOf(game)}/integrate` },
    )
    app.site.navigation.push(
      { label: 'Play', href: '/catalog', place: 'main', order: 10, key: 'p' },
      { label: 'My games', href: '/games', place: 'make', order: 10, key: 'm' },
      { label: 'Games', href: '/admin/games', place: 'host', order: 20, role: 'moderator' },
      { label: 'Approvals', href: '/admin/approvals', place: 'host', order: 22, role: 'moderator' },
      { label: 'My page', href: '/players/me', place: 'account', order: 5 },
    )
    contributeCounts(app)
    contributeToHostDashboard(app)
    contributeApprovals(app)
    app.site.links.push({ rel: 'alternate', type: 'application/atom+xml', title: 'New games', href: '/feed.xml' })
    app.site.card = `${app.origins.portal}/card.png?v=${app.games.cards.ofSite().key}`
    app.sitemaps.push(listPages, gamePages(app.db))
    registerScheduledTasks(app)
    redirectFormerAddresses(app)
    await app.register(routes)
    await app.register(activityRoutes)
    await app.register(mediaRoutes)
    await app.register(memberRoutes)
    await app.register(transferRoutes)
    await app.register(cardRoutes)
    await app.register(feed)
    await app.register(publicPages)
    await app.register(ownerPages)
    await app.register(overviewPages)
    await app.register(activityPages)
    await app.register(livePages)
    await app.register(memberPages)
    await app.register(invitationPages)
    await app.register(playerPages)
    await app.register(hostPages)
    await app.register(handOverPages)
    await app.register(approvalPages)
  },
)
