import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { type Blobs, DiskCache } from '../../../core/data/disk-cache.ts'
import type { GameEdgeConfig } from '../schemas.ts'

/** Returns the source of game files: the storage itself, or a local disk cache if the storage is remote. */
export async function blobsOf(app: FastifyInstance, { diskCacheBytes }: GameEdgeConfig): Promise<Blobs> {
  const { storage, deploys } = app
  const source: Blobs = {
    file: async ({ sha256 }) => (await storage.openFile?.(deploys.blobKey(sha256))) ?? null,
    open: (file, range) => deploys.openBlob(file, range),
  }
  if (!storage.remote || diskCacheBytes === 0) return source
  const folder = join(app.config.dataDir, 'cache', 'games')
  return DiskCache.open({ folder, maxBytes: diskCacheBytes, source, log: app.log })
}
