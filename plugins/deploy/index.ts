import type {} from '../../core/jobs/worker-programs.ts'
import { definePlugin } from '../../core/plugin.ts'
import type {} from '../../drivers/storage/interface.ts'
import { GarbageCollector } from './blobs/garbage-collector.ts'
import { Compression } from './compression/compression.ts'
import { deleteBuilds, deleteGameData, endOpenDeploys } from './delete-game-data.ts'
import { Deploys } from './deploys.ts'
import { BlobRow, BlobVariant, ChangedName, DeployRow, DeployUpload, ManifestRow, OwnerBlob } from './entities.ts'
import { exportDeploys } from './export-deploys.ts'
import { COMPRESS } from './go-live.ts'
import { migrations } from './migrations.ts'
import { lastDeploys } from './pages/last-deploy-column.ts'
import { pages } from './pages/routes.ts'
import { Retention } from './retention.ts'
import { routes } from './routes.ts'
import { ArchiveLimits, DeployLimits, HistoryLimits } from './schemas.ts'
import { giveDeploys, STORED_KIND, storedDeploys } from './stored-bytes.ts'
import { zipRoutes } from './zip/routes.ts'

export { type DraftBuild, type DraftSource, isDraftId } from './drafts/draft-builds.ts'
export { InvalidRoomScript } from './errors.ts'
export { liveSince } from './go-live.ts'
export { carriesDigest } from './manifest/digest-name.ts'
export { announcementOf, type FileEncoding, type Manifest, type ManifestFile } from './manifest/manifests.ts'
export { mediaTypeOf } from './manifest/media-type.ts'
export { problemOf } from './manifest/paths.ts'
export { uploadedEncoding } from './manifest/uploaded-encoding.ts'
export { sourceExcerpt } from './pages/source-excerpt.ts'
export type { DeployedRoomScript } from './room-script/room-scripts.ts'
export { FinalizedDeploy, type NewFile } from './schemas.ts'
export { BuildSourceMaps } from './source-maps/build-source-maps.ts'
export type { SourcePlace } from './source-maps/places.ts'

declare module 'fastify' {
  interface FastifyInstance {
    deploys: Deploys
  }
}

/** Deploys: builds are uploaded by digest, and go live atomically. */
export default definePlugin(
  {
    name: 'deploy',
    dependencies: ['oauth-idp', 'quotas', 'games'],
    limits: { ...DeployLimits, ...HistoryLimits, ...ArchiveLimits },
    entities: [DeployRow, ChangedName, ManifestRow, BlobRow, OwnerBlob, DeployUpload, BlobVariant],
    migrations,
  },
  async (app, _config, limits) => {
    app.decorate('deploys', new Deploys(app, limits))
    const cut = await app.deploys.unresumable.endLeftBehind().catch((error) => {
      app.log.warn({ err: error }, 'deploys that a crash has cut could not be ended; the next start tries again')
      return 0
    })
    if (cut > 0) app.log.info({ deploys: cut }, 'ended deploys that a crash had cut')
    app.games.hasPreview = async (gameId, short) => (await app.deploys.manifests.byPreview(gameId, short)) !== null
    const collector = new GarbageCollector(app)
    app.jobs.every('deploy/tidy', 60, ({ signal }) => collector.run(signal))
    const retention = new Retention(app, limits.deploysKept)
    app.jobs.every('deploy/forget', 24 * 3600, ({ signal }) => retention.sweep(signal))
    const compression = new Compression(app)
    app.jobs.handle<{ gameId: string }>(COMPRESS, ({ payload, signal }) => compression.run(payload.gameId, signal))
    app.addHook('onClose', () => compression.close())
    app.addHook('onClose', () => app.deploys.close())
    app.games.deletion.endings.push((em, gameId) => endOpenDeploys(em, app.quotas, gameId))
    app.games.deletion.preparations.push((gameId, signal) => deleteBuilds(app, gameId, signal))
    app.games.deletion.cleanups.push((em, gameId) => deleteGameData(em, app.quotas, gameId))
    app.games.ownership.moves.push((em, { gameId, toId }) => giveDeploys(em, gameId, toId))
    app.quotas.kinds.set(STORED_KIND, storedDeploys(app))
    app.identity.deletion.exporters.set('deploysInOthersGames', (playerId) => exportDeploys(app, playerId))
    app.identity.deletion.cleanups.push((em, ownerId) => em.nativeDelete(OwnerBlob, { ownerId }))
    app.games.dashboard.tabs.push({ label: 'Deploys', order: 20, href: (game) => `/games/${game.slug}/deploys` })
    app.games.dashboard.columns.push(lastDeploys(app))
    await app.register(routes(limits))
    await app.register(pages)
    await app.register(zipRoutes(limits))
  },
)
