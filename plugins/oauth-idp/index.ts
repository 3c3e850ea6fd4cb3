import { definePlugin } from '../../core/plugin.ts'
import { OAuthAppRow } from './apps/entities.ts'
import { appRoutes } from './apps/routes.ts'
import { AuthConfig, authLimits } from './config.ts'
import { Identity } from './identity.ts'
import { migration as identityTables } from './migrations/2026_11_21_identity.ts'
import { authorizeRoutes } from './oauth/authorize.ts'
import { AccessToken, AuthorizationCode, Consent } from './oauth/entities.ts'
import { metadataRoutes } from './oauth/metadata.ts'
import { tokenRoutes } from './oauth/token.ts'
import { userinfoRoutes } from './oauth/userinfo.ts'
import { PlayerRow, SetupLink } from './players/entities.ts'
import { playerPages } from './players/pages.ts'
import { playerRoutes } from './players/routes.ts'
import { setupPages } from './players/setup-pages.ts'
import { Session } from './sessions/entities.ts'
import { settingsPages } from './settings/pages.ts'

export type { App as OAuthApp, AppWithSecret } from './apps/schemas.ts'
export type { AuthConfig } from './config.ts'
export { InvalidGrant } from './oauth/errors.ts'
export { type NewPlayer, Players, type Standing } from './players/players.ts'
export type { Player } from './players/schemas.ts'
export { SettingsHeader } from './settings/header.ts'

declare module 'fastify' {
  interface FastifyInstance {
    identity: Identity
  }
}

/** Players, their sign-in and browser sessions, and the OAuth applications that they sign in to. */
export default definePlugin(
  {
    name: 'oauth-idp',
    config: AuthConfig,
    section: 'auth',
    limits: authLimits,
    entities: [PlayerRow, SetupLink, Session, OAuthAppRow, AuthorizationCode, AccessToken, Consent],
    migrations: [identityTables],
  },
  async (app, config, limits) => {
    const identity = new Identity(app, config, limits)
    app.decorate('identity', identity)

    app.auth.recognise({ credential: 'cookie', authenticate: (request) => identity.sessions.authenticate(request) })
    app.auth.recognise({
      credential: 'bearer',
      claims: (token) => identity.accessTokens.claims(token),
      authenticate: (token) => identity.accessTokens.authenticate(token),
    })
    app.auth.signInPath = '/sign-in'
    // Any answer to a signed-in browser may carry the cookie on for another thirty days.
    app.addHook('onSend', async (request, reply) => {
      await identity.sessions.renew(request, reply)
    })
    app.jobs.every('oauth-idp/sweep', 3600, () => identity.sweep())

    app.announcements.push({ label: 'Set-up', text: () => identity.setupUrl() })
    app.site.navigation.push(
      { label: 'Sign in', href: '/sign-in', place: 'guest', order: 10 },
      ...(identity.players.signUpIsOpen
        ? [{ label: 'Sign up', href: '/sign-up', place: 'guest', order: 20 } as const]
        : []),
      { label: 'Settings', href: '/settings', place: 'account', order: 80 },
      { label: 'Sign out', href: '/sign-out', place: 'account', order: 90, method: 'post' },
    )
    for (const routes of [playerRoutes, playerPages, setupPages, settingsPages, appRoutes]) await app.register(routes)
    for (const routes of [authorizeRoutes, tokenRoutes, userinfoRoutes, metadataRoutes]) await app.register(routes)
  },
)
