import { userInfo } from 'node:os'
import { systemClock } from '../core/clock.ts'
import type { Actor } from '../core/data/audit.ts'
import type { Database } from '../core/data/database.ts'
import type { Suspensions } from '../core/data/staff/suspensions.ts'
import { NotFound } from '../core/errors.ts'
import type { Events } from '../core/events.ts'
import { isId } from '../core/ids.ts'
import { configOf, limitsOf } from '../core/plugin.ts'
import type { Game } from '../plugins/games/index.ts'
import type {
  AccountRescue,
  Administration,
  AuthConfig,
  Invitations,
  PasswordAuthentication,
  Player,
  Players,
} from '../plugins/oauth-idp/index.ts'
import type { PlayerLimitsStore } from '../plugins/quotas/index.ts'
import type { Installation } from './installation.ts'
import { type ConfigOptions, loadPlatformConfig } from './options.ts'

/** The system user who runs the command, as recorded in the audit. */
export const commandActor = (): Actor => ({ id: userName(), role: 'command' })

/** Returns the name of the user, or its number where the system knows no name for it, as in a container. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.()}`
  }
}

/** Runs work with the suspension service of the configured database. */
export async function withSuspensions(
  options: ConfigOptions,
  { version }: Installation,
  work: (suspensions: Suspensions<Game>) => Promise<void>,
): Promise<void> {
  const [{ withDatabase }, { GameLookup, suspensionsOfGames }, { Origins }] = await Promise.all([
    import('./open-database.ts'),
    import('../plugins/games/index.ts'),
    import('../core/origins/origins.ts'),
  ])
  const loaded = await loadPlatformConfig(options)
  const clock = systemClock
  await withDatabase(loaded, { name: 'admin', version }, async ({ db, events }) => {
    const games = new GameLookup({ db, clock, events, origins: new Origins(loaded.config) })
    await work(suspensionsOfGames({ db, clock }, games))
  })
}

/**
 * Runs work with the administration of players. A player who becomes trusted has their waiting games published, as on
 * the platform.
 */
export async function withTrust(
  options: ConfigOptions,
  installation: Installation,
  work: (services: { administration: Administration; find: (player: string) => Promise<Player> }) => Promise<void>,
): Promise<void> {
  const [{ Approvals, GameLookup }, { Origins }] = await Promise.all([
    import('../plugins/games/index.ts'),
    import('../core/origins/origins.ts'),
  ])
  const { config } = await loadPlatformConfig(options)
  await withAccounts(options, installation, async ({ db, events, players, administration }) => {
    const parts = { db, clock: systemClock, origins: new Origins(config) }
    const games = new GameLookup({ ...parts, events })
    const approvals = new Approvals({ ...parts, players, mode: config.games.publish }, (game) => games.announce(game))
    administration.onTrusting((em, playerId, by) => approvals.publishAllOf(em, playerId, by))
    await work({ administration, find: (player) => findPlayer(players, player) })
  })
}

/** Runs work with the limits of players, and a look-up of players by email address or id. */
export async function withQuotas(
  options: ConfigOptions,
  installation: Installation,
  work: (services: { limits: PlayerLimitsStore; find: (player: string) => Promise<Player> }) => Promise<void>,
): Promise<void> {
  const { default: quotas, PlayerLimitsStore } = await import('../plugins/quotas/index.ts')
  const { config } = await loadPlatformConfig(options)
  await withAccounts(options, installation, async ({ db, players }) => {
    const limits = new PlayerLimitsStore({ db, clock: systemClock }, limitsOf(quotas, config))
    await work({ limits, find: (player) => findPlayer(players, player) })
  })
}

/** Runs work with the invitations of the configured database. */
export async function withInvitations(
  options: ConfigOptions,
  installation: Installation,
  work: (invitations: Invitations) => Promise<void>,
): Promise<void> {
  const [{ Invitations, OneTimeTokens }, { Keys }] = await Promise.all([
    import('../plugins/oauth-idp/index.ts'),
    import('../core/data/keys.ts'),
  ])
  const { config } = await loadPlatformConfig(options)
  await withAccounts(options, installation, async ({ db }) => {
    const parts = { db, clock: systemClock, portalUrl: config.portal.url }
    await work(new Invitations({ ...parts, tokens: new OneTimeTokens({ ...parts, keys: await Keys.open(config) }) }))
  })
}

/** Finds a player. @param named an email address or a player id @throws NotFound */
export async function findPlayer(players: Players, named: string): Promise<Player> {
  const player = await (isId('ply', named) ? players.find(named) : players.findByEmail(named))
  if (!player) throw new NotFound('player')
  return player
}

/**
 * Runs work with the accounts of the configured database, without starting the platform. The platform may run
 * meanwhile.
 *
 * @param options.make whether a configuration or data folder that is named may get its first data
 */
export async function withAccounts(
  options: ConfigOptions & { make?: boolean },
  { version }: Installation,
  work: (accounts: {
    db: Database
    events: Events
    players: Players
    passwords: PasswordAuthentication
    administration: Administration
    rescue: AccountRescue
  }) => Promise<void>,
): Promise<void> {
  const [{ withDatabase }, oauthIdp, { tokenSignInMethod }, { RateLimiter }, { createLog }] = await Promise.all([
    import('./open-database.ts'),
    import('../plugins/oauth-idp/index.ts'),
    import('../plugins/tokens/index.ts'),
    import('../core/http/rate-limit.ts'),
    import('../core/observe/log.ts'),
  ])
  const loaded = await loadPlatformConfig(options)
  // A folder that nobody has named is not made into a platform.
  const isNamed = loaded.file !== null || (options.data ?? process.env.SERVICE_DATA_DIR) !== undefined
  const make = options.make === true && isNamed
  const context = { clock: systemClock, log: createLog('warn', process.stderr) }
  await withDatabase(loaded, { name: 'admin', version, make }, async ({ db, bus, events }) => {
    const rateLimiter = new RateLimiter({ ...context, bus, enabled: false })
    const auth = configOf(oauthIdp.default, loaded.config) as AuthConfig
    const hasher = new oauthIdp.PasswordHasher(auth.passwordHashing)
    const portalUrl = loaded.config.portal.url
    const around = { ...context, ...auth, contact: null, db, events, rateLimiter, hasher, portalUrl }
    const players = new oauthIdp.Players(around)
    const passwords = new oauthIdp.PasswordAuthentication({ ...around, players, signInAttemptsPerMinute: 1 })
    const administration = new oauthIdp.Administration({ ...around, players })
    const providers = Object.keys(auth.providers)
    const signInMethods = new oauthIdp.SignInMethods(systemClock, { host: new URL(portalUrl).hostname, providers })
    signInMethods.add(tokenSignInMethod(systemClock))
    const rescue = new oauthIdp.AccountRescue({ ...around, players, passwords, signInMethods })
    await work({ db, events, players, passwords, administration, rescue })
  })
}
