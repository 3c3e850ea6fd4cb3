import { definePlugin } from '../../core/plugin.ts'
import { setupChecklist } from './admin/setup-checklist.ts'
import { AuthConfig, authLimits, OAuthConfig } from './config.ts'
import { checkAuthConfig } from './config-rules.ts'
import { Identity } from './identity.ts'
import { migrations } from './migrations.ts'
import { contributeNavigation } from './navigation.ts'
import { callerCheck } from './players/caller-check.ts'
import { registerAllRoutes } from './route-list.ts'
import { entities } from './tables.ts'

export { AccountRescue } from './admin/account-rescue.ts'
export { Administration } from './admin/administration.ts'
export { Invitations } from './admin/invitations.ts'
export { deleteAppsOfGame } from './apps/app-deletion.ts'
export { transferAppsOfGame } from './apps/game-transfer.ts'
export type { HostedOrigins } from './apps/record.ts'
export { callbacksBelow, redirectUriOf } from './apps/redirect-uris.ts'
export type { App as OAuthApp, AppWithSecret } from './apps/schemas.ts'
export type { AuthConfig } from './config.ts'
export { LONGEST_SECRET, type SecretCandidate, type SecretKind } from './live-secrets.ts'
export type { BuiltinClient } from './oauth/builtin-clients.ts'
export { InvalidGrant } from './oauth/errors.ts'
export { type Loss, loss } from './players/losses.ts'
export { OneTimeTokens } from './players/one-time-tokens.ts'
export { PasswordAuthentication } from './players/password-authentication.ts'
export { PasswordHasher } from './players/passwords.ts'
export { type NewPlayer, Players, type Standing } from './players/players.ts'
export { normaliseEmail } from './players/profile.ts'
export type { Player } from './players/schemas.ts'
export {
  DELETED,
  type Decisions,
  notTaken,
  type Settlement,
  type SharedContent,
  type SharedItem,
  undecided,
} from './players/shared-content.ts'
export {
  type RemovableMethod,
  type RemovedMethods,
  type SignInMethod,
  SignInMethods,
} from './players/sign-in-methods.ts'
export { ProofOfWork } from './players/sign-in-page.ts'
export { browserName } from './settings/browser-name.ts'
export { SettingsHeader } from './settings/header.ts'

declare module 'fastify' {
  interface FastifyInstance {
    identity: Identity
  }
}

/** Players, their sign-in and browser sessions, and the OAuth applications to which they sign in. */
export default definePlugin(
  {
    name: 'oauth-idp',
    config: AuthConfig,
    check: checkAuthConfig,
    section: 'auth',
    sections: { oauth: OAuthConfig },
    limits: authLimits,
    entities,
    migrations,
  },
  async (app, config, limits, { oauth }) => {
    const identity = new Identity(app, config, limits, oauth)
    app.decorate('identity', identity)
    app.db.checkCallers(callerCheck(app.db))

    app.auth.recognise({ credential: 'cookie', authenticate: (request) => identity.sessions.authenticate(request) })
    app.auth.recognise({
      credential: 'bearer',
      claims: (token) => identity.accessTokens.claims(token),
      authenticate: (token) => identity.accessTokens.authenticate(token),
    })
    app.auth.signInPath = '/sign-in'
    // Any response to a signed-in browser may extend the cookie for another thirty days. It is sent all the same while a
    // move stops writes, or the disk is full.
    app.addHook('onSend', (request, reply, _payload, done) => {
      if (request.principal?.kind !== 'session') return done()
      const fail = (error: unknown) => {
        request.log.warn({ err: error }, 'the session could not be extended')
        done()
      }
      identity.sessions.renew(request, reply).then(() => done(), fail)
    })
    app.jobs.every('oauth-idp/sweep', 3600, ({ signal }) => identity.sweep(signal))
    app.jobs.every('oauth-idp/sweep-pictures', 24 * 3600, ({ signal }) => identity.avatars.sweep(signal))
    app.addHook('preClose', () => identity.signIns.flush())

    app.announcements.push({ label: 'Set-up', text: () => identity.setupUrl() })
    contributeNavigation(app)
    app.hostDashboard.stats.push({ label: 'players', order: 10, value: () => identity.administration.count() })
    app.hostDashboard.setupSteps.push(...setupChecklist(app))
    await registerAllRoutes(app, oauth)
  },
)
