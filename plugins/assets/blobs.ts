import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { type Blobs, type Digested, DiskCache } from '../../core/data/disk-cache.ts'
import { blobKey } from './record.ts'
import type { AssetsConfig } from './schemas.ts'

/** Stored bytes of an asset: its files, its lighter form, its picture, its clips. */
export interface AssetBlob extends Digested {
  assetId: string
}

/** Where the bytes of assets are read: the storage, or, where that is reached over a network, copies of it here. */
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
