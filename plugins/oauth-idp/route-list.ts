import type { FastifyInstance } from 'fastify'
import { allowAnyOrigin } from '../../core/http/cors.ts'
import { adminPages } from './admin/pages.ts'
import { adminRoutes } from './admin/routes.ts'
import { appPages } from './apps/pages.ts'
import { appRoutes } from './apps/routes.ts'
import { authorizeRoutes } from './oauth/authorize.ts'
import { connectedPages } from './oauth/connected-apps-routes.ts'
import { deviceAuthorizationRoutes } from './oauth/device-authorization.ts'
import { devicePages } from './oauth/device-routes.ts'
import { introspectRoutes } from './oauth/introspect.ts'
import { logoutRoutes } from './oauth/logout.ts'
import { metadataRoutes } from './oauth/metadata.ts'
import { registerRoutes } from './oauth/register.ts'
import { revokeRoutes } from './oauth/revoke.ts'
import { tokenRoutes } from './oauth/token.ts'
import { userinfoRoutes } from './oauth/userinfo.ts'
import { passkeyRoutes } from './passkeys/routes.ts'
import { avatarRoutes } from './players/avatar-routes.ts'
import { playerPages } from './players/pages.ts'
import { recoveryPages } from './players/recovery-pages.ts'
import { playerRoutes } from './players/routes.ts'
import { setupPages } from './players/setup-pages.ts'
import { settingsPages } from './settings/pages.ts'
import { securityPages } from './settings/security-routes.ts'
import { upstreamPages } from './upstream/pages.ts'

const routeList = [
  recoveryPages,
  avatarRoutes,
  passkeyRoutes,
  upstreamPages,
  adminPages,
  adminRoutes,
  securityPages,
  playerRoutes,
  playerPages,
  setupPages,
  settingsPages,
  appPages,
  appRoutes,
  authorizeRoutes,
  logoutRoutes,
  devicePages,
  connectedPages,
  tokenRoutes,
  revokeRoutes,
  introspectRoutes,
  deviceAuthorizationRoutes,
]

/** The responses are public, or belong to the holder of the token. */
const publicRoutes = [userinfoRoutes, metadataRoutes, registerRoutes]

/** Registers the routes of the API and the pages. Pages of any origin may call the public ones. */
export async function registerAllRoutes(
  app: FastifyInstance,
  { registration: mode }: { registration: string },
): Promise<void> {
  for (const routes of routeList) await app.register(routes)
  const registration = mode === 'open' ? { '/api/oauth/register': 'POST' } : {}
  await app.register(async (scope) => {
    allowAnyOrigin(scope, { paths: { '/api/oauth/userinfo': 'GET, POST', ...registration } })
    for (const routes of publicRoutes) await scope.register(routes)
  })
}
