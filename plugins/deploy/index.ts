import { definePlugin } from '../../core/plugin.ts'
import type {} from '../../core/worker-programs.ts'
import type {} from '../../drivers/storage/interface.ts'
import { Collector } from './collector.ts'
import { Compression } from './compression.ts'
import { Deploys } from './deploys.ts'
import { BlobRow, BlobVariant, DeployRow, DeployUpload, ManifestRow, OwnerBlob } from './entities.ts'
import { forgetGame } from './forget-game.ts'
import { COMPRESS } from './go-live.ts'
import { lastDeploys } from './last-deploys.ts'
import { migration } from './migrations/2026_11_21_deploys.ts'
import { variantsMigration } from './migrations/2026_11_21_deploys_variants.ts'
import { pages } from './pages.ts'
import { routes } from './routes.ts'
import { ArchiveLimits, DeployLimits } from './schemas.ts'
import { zipRoutes } from './zip/routes.ts'

export type { FileEncoding, Manifest, ManifestFile } from './manifests.ts'
export { mediaTypeOf } from './media-type.ts'

declare module 'fastify' {
  interface FastifyInstance {
    deploys: Deploys
  }
}

/** Deploys: builds come in by digest, and go live all at once. */
export default definePlugin(
  {
    name: 'deploy',
    dependencies: ['oauth-idp', 'games'],
    limits: { ...DeployLimits, ...ArchiveLimits },
    entities: [DeployRow, ManifestRow, BlobRow, OwnerBlob, DeployUpload, BlobVariant],
    migrations: [migration, variantsMigration],
  },
  async (app, _config, limits) => {
    app.decorate('deploys', new Deploys(app, limits))
    const collector = new Collector(app)
    app.jobs.every('deploy/tidy', 60, ({ signal }) => collector.tidy(signal))
    const compression = new Compression(app)
    app.jobs.handle<{ gameId: string }>(COMPRESS, ({ payload, signal }) => compression.run(payload.gameId, signal))
    app.addHook('onClose', () => compression.close())
    app.games.removals.clearings.push(forgetGame)
    app.identity.removal.clearings.push((em, ownerId) => em.nativeDelete(OwnerBlob, { ownerId }))
    app.games.dashboard.tabs.push({ label: 'Deploys', order: 20, href: (game) => `/games/${game.slug}/deploys` })
    app.games.dashboard.columns.push(lastDeploys(app))
    await app.register(routes(limits))
    await app.register(pages)
    await app.register(zipRoutes(limits))
  },
)
