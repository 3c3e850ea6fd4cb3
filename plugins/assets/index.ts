import { join } from 'node:path'
import { Spool } from '../../core/data/spool.ts'
import { definePlugin } from '../../core/plugin.ts'
import { Assets } from './assets.ts'
import { blobsOf } from './blobs.ts'
import { AppliedClip, AssetClip, AssetLicense, AssetRow, AssetTerm, FormerAssetSlug } from './entities.ts'
import { migrations } from './migrations.ts'
import { Models } from './models/models.ts'
import { assetsOf } from './pages/game-assets.ts'
import { pages } from './pages/routes.ts'
import { suspensionPages } from './pages/suspension.ts'
import { routes } from './routes.ts'
import { registerScheduledTasks } from './scheduled-tasks.ts'
import { AssetLimits, AssetsConfig } from './schemas.ts'
import { fileRoutes } from './serving/routes.ts'
import { STORED_KIND, storedAssets } from './stored-bytes.ts'

export { gameOf, gamesToChoose, NO_GAME } from './pages/game-choice.ts'
export { modelStage, STAGE_SCRIPT, VIEWER_POLICY, type ViewerFiles, viewerFiles } from './pages/stage.ts'
export { type AssetRecord, gameExtension } from './record.ts'
export type { Asset, NewAsset } from './schemas.ts'
export { fastPathHandler as firstLookAtAssets } from './serving/fast-path.ts'
export { cors, PREFLIGHT } from './serving/headers.ts'
export { fileIn as fileInPack } from './serving/routes.ts'
export type { LocalFile } from './upload/ingest.ts'

declare module 'fastify' {
  interface FastifyInstance {
    assets: Assets
  }
}

/** Assets: 3D models, packs, pictures and sounds, hosted for games to hot-link, on the Studio's origin. */
export default definePlugin(
  {
    name: 'assets',
    dependencies: ['oauth-idp', 'tokens', 'quotas', 'games'],
    config: AssetsConfig,
    limits: AssetLimits,
    entities: [AssetRow, AssetTerm, AssetLicense, FormerAssetSlug, AssetClip, AppliedClip],
    migrations,
  },
  async (app, config, limits) => {
    const { db, clock, events, storage, jobs, images, quotas, games, identity, origins, log } = app
    const parts = { db, clock, events, storage, jobs, images, quotas, games, identity, origins, log }
    const models = new Models(app.workerPrograms)
    const spool = new Spool(join(app.config.dataDir, 'uploads'))
    await spool.prepare()
    app.addHook('onClose', () => models.close())
    app.decorate('assets', new Assets({ ...parts, models, limits, spool, blobs: await blobsOf(app, config) }))
    app.quotas.counts.set('assetsPerPlayer', 'select count(*) as things from assets where owner_id = ?')
    app.quotas.kinds.set(STORED_KIND, storedAssets(app))
    registerScheduledTasks(app)
    app.games.deletion.cleanups.push((em, gameId) => app.assets.changes.leaveGame(em, gameId))
    app.identity.administration.onDisabling((em, playerId, disabled) =>
      app.assets.suspensions.followAccount(em, playerId, disabled),
    )
    app.addHook('onReady', () => app.assets.suspensions.completeCauses())
    await app.register(suspensionPages)
    await app.register(routes({ spool, limits }))
    await app.register(fileRoutes)
    await app.register(pages({ spool, limits }))
    app.games.dashboard.tabs.push({ label: 'Assets', order: 25, href: assetsOf })
    app.site.navigation.push(
      { label: 'Asset library', href: '/assets', place: 'make', order: 20, key: 'a' },
      { label: 'My assets', href: '/assets/mine', place: 'make', order: 30 },
    )
  },
)
