import { definePlugin } from '../../core/plugin.ts'
import { assetRoutes } from './assets.ts'
import { certificateRoutes } from './certificates.ts'
import { Edge } from './edge.ts'
import { SiteOwner } from './entities.ts'
import { blobsOf } from './files/blobs.ts'
import { fileRoutes } from './files/routes.ts'
import { migration } from './migrations/2026_11_21_site_owners.ts'
import { migration as addressesMigration } from './migrations/2026_11_22_site_addresses.ts'
import { previewRoutes } from './preview-routes.ts'
import { GameEdgeConfig } from './schemas.ts'
import { scriptRoutes } from './scripts.ts'
import { signInRoutes } from './sign-in/routes.ts'

export { refuseServiceWorker } from './edge.ts'
export { SCRIPT_CACHE } from './scripts.ts'
export type { GameSession } from './sign-in/sessions.ts'

declare module 'fastify' {
  interface FastifyInstance {
    edge: Edge
  }
}

/** A game's own origin: its static files, sign-in and the scripts the platform adds. */
export default definePlugin(
  {
    name: 'game-edge',
    dependencies: ['oauth-idp', 'games', 'deploy', 'assets'],
    config: GameEdgeConfig,
    entities: [SiteOwner],
    migrations: [migration, addressesMigration],
  },
  async (app, config) => {
    app.decorate('edge', new Edge(app))
    await app.register(signInRoutes)
    await app.register(previewRoutes)
    await app.register(scriptRoutes)
    await app.register(assetRoutes)
    await app.register(certificateRoutes)
    await app.register(fileRoutes(await blobsOf(app, config), config.cacheBytes))
  },
)
