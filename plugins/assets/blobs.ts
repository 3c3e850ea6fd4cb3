import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { type Blobs, type Digested, DiskCache } from '../../core/data/disk-cache.ts'
import { blobKey } from './record.ts'
import type { AssetsConfig } from './schemas.ts'

/** A stored blob of an asset: a file, its simplified form, its thumbnail or a clip. */
export interface AssetBlob extends Digested {
  assetId: string
}

/** Returns the source of asset bytes: the storage itself, or a local disk cache if the storage is remote. */
export async function blobsOf(app: FastifyInstance, { diskCacheBytes }: AssetsConfig): Promise<Blobs<AssetBlob>> {
  const { storage } = app
  const source: Blobs<AssetBlob> = {
    file: async ({ assetId, sha256 }) => (await storage.openFile?.(blobKey(assetId, sha256))) ?? null,
    open: ({ assetId, sha256 }, range) => storage.get(blobKey(assetId, sha256), range),
  }
  if (!storage.remote || diskCacheBytes === 0) return source
  const folder = join(app.config.dataDir, 'cache', 'assets')
  return DiskCache.open({ folder, maxBytes: diskCacheBytes, source, log: app.log })
}
