import { definePlugin } from '../../core/plugin.ts'
import { assetRoutes } from './assets.ts'
import { Edge } from './edge.ts'
import { portalRoutes } from './embedded/portal-routes.ts'
import { embeddedRoutes } from './embedded/routes.ts'
import { FrameTicket, SiteOwner } from './entities.ts'
import { blobsOf } from './files/blobs.ts'
import { fileRoutes } from './files/routes.ts'
import { migration } from './migrations/2026_11_21_site_owners.ts'
import { migration as addressesMigration } from './migrations/2026_11_22_site_addresses.ts'
import { migration as ticketsMigration } from './migrations/2026_11_23_frame_tickets.ts'
import { certificateRoutes } from './on-demand-tls.ts'
import { previewRoutes } from './preview-routes.ts'
import { GameEdgeConfig } from './schemas.ts'
import { frameWorkerRoute, scriptRoutes } from './scripts.ts'
import { describeGameSession } from './sign-in/cookies.ts'
import { signInRoutes } from './sign-in/routes.ts'

export { refuseServiceWorker } from './edge.ts'
export { signInRequired } from './errors.ts'
export { serveScript } from './scripts.ts'
export { MORE_TO_PLAYER, OF_PLAYER } from './sign-in/cookies.ts'
export type { GameSession } from './sign-in/sessions.ts'

declare module 'fastify' {
  interface FastifyInstance {
    edge: Edge
  }
}

/** A game's own origin: its static files, its sign-in, and the scripts that the platform adds. */
export default definePlugin(
  {
    name: 'game-edge',
    dependencies: ['oauth-idp', 'games', 'deploy', 'assets'],
    config: GameEdgeConfig,
    entities: [SiteOwner, FrameTicket],
    migrations: [migration, addressesMigration, ticketsMigration],
  },
  async (app, config) => {
    app.decorate('edge', new Edge(app))
    Object.assign(app.securitySchemes, describeGameSession(app.origins.game('my-game')))
    app.games.dashboard.integrations.push({
      title: 'Assets',
      order: 30,
      guide: 'assets',
      description: 'Public models of the platform, at the address of the game. The catalog of assets has their names.',
      code: "const model = await fetch('/__service/assets/NAME.glb').then((answer) => answer.arrayBuffer())",
      prompt:
        'public 3D models of the platform are at /__service/assets/NAME.glb, without CORS; GET /api/assets?q=WORDS of the platform finds names.',
    })
    app.jobs.every('game-edge/sweep', 3600, ({ signal }) => app.edge.embedded.tickets.sweep(signal))
    await app.register(signInRoutes)
    await app.register(embeddedRoutes)
    await app.register(portalRoutes)
    await app.register(previewRoutes)
    await app.register(scriptRoutes)
    await app.register(frameWorkerRoute)
    await app.register(assetRoutes)
    await app.register(certificateRoutes)
    await app.register(fileRoutes(await blobsOf(app, config), config))
  },
)
