import { allowAnyOrigin } from '../../core/http/cors.ts'
import { definePlugin } from '../../core/plugin.ts'
import { adminPages } from './admin/pages.ts'
import { adminRoutes } from './admin/routes.ts'
import { setupChecklist } from './admin/setup-checklist.ts'
import { OAuthAppRow, SignInCount } from './apps/entities.ts'
import { appRoutes } from './apps/routes.ts'
import { AuthConfig, authLimits, OAuthConfig } from './config.ts'
import { checkAuthConfig } from './config-rules.ts'
import { Identity } from './identity.ts'
import { migration as identityTables } from './migrations/2026_11_21_identity.ts'
import { migration as addresses } from './migrations/2026_11_23_addresses.ts'
import { migration as moderators } from './migrations/2026_11_23_moderators.ts'
import { migration as protectedResources } from './migrations/2026_11_23_protected_resources.ts'
import { migration as trusted } from './migrations/2026_11_23_trusted.ts'
import { migration as consentUses } from './migrations/2026_11_24_consent_uses.ts'
import { migration as disabledCause } from './migrations/2026_11_26_disabled_cause.ts'
import { migration as idTokenAlgorithms } from './migrations/2026_11_26_id_token_algorithms.ts'
import { migration as longNames } from './migrations/2026_11_26_long_names.ts'
import { migration as secretDigests } from './migrations/2026_11_26_secret_digests.ts'
import { namesMigration } from './migrations/2026_11_28_names.ts'
import { authorizeRoutes } from './oauth/authorize.ts'
import { connectedPages } from './oauth/connected-apps-routes.ts'
import { deviceAuthorizationRoutes } from './oauth/device-authorization.ts'
import { devicePages } from './oauth/device-routes.ts'
import {
  AccessToken,
  AuthorizationCode,
  Consent,
  DeviceCode,
  RefreshToken,
  RsaSigningKey,
  SigningKey,
} from './oauth/entities.ts'
import { introspectRoutes } from './oauth/introspect.ts'
import { logoutRoutes } from './oauth/logout.ts'
import { metadataRoutes } from './oauth/metadata.ts'
import { registerRoutes } from './oauth/register.ts'
import { revokeRoutes } from './oauth/revoke.ts'
import { tokenRoutes } from './oauth/token.ts'
import { userinfoRoutes } from './oauth/userinfo.ts'
import { Passkey } from './passkeys/entities.ts'
import { passkeyRoutes } from './passkeys/routes.ts'
import { avatarRoutes } from './players/avatar-routes.ts'
import { callerCheck } from './players/caller-check.ts'
import { OneTimeToken, PlayerRow, SetupLink } from './players/entities.ts'
import { playerPages } from './players/pages.ts'
import { recoveryPages } from './players/recovery-pages.ts'
import { playerRoutes } from './players/routes.ts'
import { setupPages } from './players/setup-pages.ts'
import { Session } from './sessions/entities.ts'
import { settingsPages } from './settings/pages.ts'
import { securityPages } from './settings/security-routes.ts'
import { UpstreamAccount } from './upstream/entities.ts'
import { upstreamPages } from './upstream/pages.ts'

export { Administration } from './admin/administration.ts'
export { transferAppsOfGame } from './apps/game-transfer.ts'
export type { HostedOrigins } from './apps/record.ts'
export { callbacksBelow, redirectUriOf } from './apps/redirect-uris.ts'
export type { App as OAuthApp, AppWithSecret } from './apps/schemas.ts'
export type { AuthConfig } from './config.ts'
export { LONGEST_SECRET, type SecretCandidate, type SecretKind } from './live-secrets.ts'
export type { BuiltinClient } from './oauth/builtin-clients.ts'
export { InvalidGrant } from './oauth/errors.ts'
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
export { ProofOfWork } from './players/sign-in-page.ts'
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
    entities: [
      PlayerRow,
      SetupLink,
      OneTimeToken,
      Passkey,
      UpstreamAccount,
      Session,
      OAuthAppRow,
      AuthorizationCode,
      AccessToken,
      RefreshToken,
      DeviceCode,
      Consent,
      RsaSigningKey,
      SigningKey,
      SignInCount,
    ],
    migrations: [
      identityTables,
      addresses,
      moderators,
      trusted,
      protectedResources,
      consentUses,
      longNames,
      idTokenAlgorithms,
      disabledCause,
      secretDigests,
      namesMigration,
    ],
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
    // Any response to a signed-in browser may extend the cookie for another thirty days.
    app.addHook('onSend', (request, reply, _payload, done) => {
      if (request.principal?.kind !== 'session') return done()
      identity.sessions.renew(request, reply).then(() => done(), done)
    })
    app.jobs.every('oauth-idp/sweep', 3600, ({ signal }) => identity.sweep(signal))
    app.addHook('preClose', () => identity.signIns.flush())

    app.announcements.push({ label: 'Set-up', text: () => identity.setupUrl() })
    app.site.navigation.push(
      { label: 'Sign in', href: '/sign-in', place: 'guest', order: 10, returns: true },
      ...(identity.players.signUpIsOpen
        ? [{ label: 'Sign up', href: '/sign-up', place: 'guest', order: 20, returns: true } as const]
        : []),
      { label: 'Profile and settings', href: '/settings', place: 'account', order: 10, key: 's' },
      { label: 'Players', href: '/admin/players', place: 'host', order: 10, role: 'moderator' },
      { label: 'Sign out', href: '/sign-out', place: 'account', order: 90, method: 'post' },
    )
    app.hostDashboard.stats.push({ label: 'players', order: 10, value: () => identity.administration.count() })
    app.hostDashboard.setupSteps.push(...setupChecklist(app))
    for (const routes of [recoveryPages, avatarRoutes, passkeyRoutes, upstreamPages, adminPages, adminRoutes])
      await app.register(routes)
    for (const routes of [securityPages, playerRoutes, playerPages, setupPages, settingsPages, appRoutes])
      await app.register(routes)
    for (const routes of [authorizeRoutes, logoutRoutes, devicePages, connectedPages]) await app.register(routes)
    for (const routes of [tokenRoutes, revokeRoutes, introspectRoutes, deviceAuthorizationRoutes]) {
      await app.register(routes)
    }
    const registration = oauth.registration === 'open' ? { '/api/oauth/register': 'POST' } : {}
    // Pages of any origin may call these routes: the responses are public, or belong to the holder of the token.
    await app.register(async (scope) => {
      allowAnyOrigin(scope, { paths: { '/api/oauth/userinfo': 'GET, POST', ...registration } })
      for (const routes of [userinfoRoutes, metadataRoutes, registerRoutes]) await scope.register(routes)
    })
  },
)
