import { definePlugin } from '../../core/plugin.ts'
import { connectIdentity } from './account-hooks.ts'
import { adoptAddresses } from './addresses/own-addresses.ts'
import { followPorts } from './addresses/ports.ts'
import { contributeCounts } from './dashboard.ts'
import { Games } from './games.ts'
import { migrations } from './migrations.ts'
import { contributeNavigation } from './navigation.ts'
import { contributeApprovals } from './pages/approvals.ts'
import { redirectFormerAddresses } from './pages/former-addresses.ts'
import { contributeToHostDashboard } from './pages/host.ts'
import { contributeQuotas } from './quotas.ts'
import { routeList } from './route-list.ts'
import { registerScheduledTasks } from './scheduled-tasks.ts'
import { GamesLimits } from './schemas.ts'
import { entities } from './tables.ts'

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

/** Games: their names, addresses, visibility, and pages on the portal. */
export default definePlugin(
  {
    name: 'games',
    dependencies: ['oauth-idp', 'tokens', 'quotas'],
    entities,
    migrations,
    limits: GamesLimits,
  },
  async (app, _config, limits) => {
    app.decorate('games', new Games(app, limits))
    connectIdentity(app)
    contributeQuotas(app)
    app.addHook('onReady', () => app.games.start())
    followPorts(app)
    app.addHook('onReady', () => adoptAddresses(app))
    app.addHook('onReady', () => app.games.suspensions.completeCauses())
    contributeNavigation(app)
    contributeCounts(app)
    contributeToHostDashboard(app)
    contributeApprovals(app)
    registerScheduledTasks(app)
    redirectFormerAddresses(app)
    for (const part of routeList) await app.register(part)
  },
)
