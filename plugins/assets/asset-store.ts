import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { Blobs } from '../../core/data/disk-cache.ts'
import type { Spool } from '../../core/data/spool.ts'
import { TtlCache } from '../../core/data/ttl-cache.ts'
import { NotFound } from '../../core/errors.ts'
import { isId } from '../../core/ids.ts'
import { BlobNotFound, type Range } from '../../drivers/storage/interface.ts'
import { AssetAccess } from './access.ts'
import type { AssetBlob } from './blobs.ts'
import { Suspended } from './errors.ts'
import type { Limits } from './limits.ts'
import type { Models } from './models/models.ts'
import { readAssets } from './read-assets.ts'
import { type AssetRecord, BLOB_PREFIX, blobKey } from './record.ts'
import type { Variant } from './schemas.ts'
import type { AssetBlobRef } from './serving/delivery.ts'

export type AssetsParts = Pick<
  FastifyInstance,
  'db' | 'clock' | 'events' | 'storage' | 'jobs' | 'images' | 'origins' | 'log' | 'quotas' | 'games' | 'identity'
> & {
  models: Models
  limits: Limits
  spool: Spool
  /** Reads the served files. */
  blobs: Blobs<AssetBlob>
}

/** A file of an asset that is open for reading. */
export interface OpenedFile extends AssetBlobRef {
  stream: Readable
}

/** Finds assets, and reads and stores their bytes. */
export class AssetStore {
  readonly access: AssetAccess
  readonly #parts: AssetsParts
  readonly #records: TtlCache<AssetRecord>

  constructor(parts: AssetsParts) {
    this.#parts = parts
    this.access = new AssetAccess(parts)
    this.#records = new TtlCache(parts.clock)
    const forget = ({ assetId }: { assetId: string }) => this.#records.dropWhere(({ id }) => id === assetId)
    parts.events.on('asset.changed', forget)
    parts.events.on('asset.deleted', forget)
  }

  /**
   * Finds the asset with an id or slug that the viewer may see; null when there is none. Cached for at most 5 s.
   *
   * @param viewerId null for a visitor who is not signed in
   * @throws Suspended for everybody but its makers
   */
  async find(idOrSlug: string, viewerId: string | null): Promise<AssetRecord | null> {
    const asset = await this.#records.get(idOrSlug, () => this.#read(idOrSlug))
    if (!asset || (asset.visibility === 'public' && !asset.suspended)) return asset
    if (await this.access.may(viewerId, asset, 'make')) return asset
    if (asset.visibility === 'private') return null
    throw new Suspended()
  }

  /** Returns the cached result of `find` synchronously. The caller checks who may see it. */
  peek(idOrSlug: string): AssetRecord | undefined {
    return this.#records.peek(idOrSlug)
  }

  /** Reads an asset from the database, for any viewer. @throws NotFound */
  async get(idOrSlug: string): Promise<AssetRecord> {
    const asset = await this.#read(idOrSlug)
    if (!asset) throw new NotFound('asset')
    return asset
  }

  /** Reads assets from the database, for any viewer, without their files. @returns the existing ones by id */
  async byIds(ids: readonly string[]): Promise<ReadonlyMap<string, AssetRecord>> {
    if (ids.length === 0) return new Map()
    const where = `a.id in (${ids.map(() => '?').join(', ')})`
    const assets = await readAssets(this.#parts, { where, values: ids, limit: ids.length, files: false })
    return new Map(assets.map((asset) => [asset.id, asset]))
  }

  /**
   * Returns an asset of the player, or of a game that the player makes.
   *
   * @throws NotFound also for another player's asset, so that its existence stays hidden
   */
  async mustMake(playerId: string, idOrSlug: string): Promise<AssetRecord> {
    const asset = await this.get(idOrSlug)
    await this.access.mustMake(playerId, asset)
    return asset
  }

  /** Returns an asset of the player. @throws NotFound as `mustMake`; OwnerOnly for the makers of its game */
  async mustOwn(playerId: string, idOrSlug: string): Promise<AssetRecord> {
    const asset = await this.get(idOrSlug)
    await this.access.mustOwn(playerId, asset)
    return asset
  }

  /** Returns an asset as a viewer may see it: to which game it belongs is for its makers. */
  async shownTo(viewerId: string | null, asset: AssetRecord): Promise<AssetRecord> {
    const hides = asset.gameId !== null && !(await this.access.may(viewerId, asset, 'make'))
    return hides ? { ...asset, gameId: null } : asset
  }

  /**
   * Chooses the file of a variant: `lod` falls back to the source where there is none, and `auto` is the simplified
   * form of a source over 1 MiB, unless its owner has turned that off.
   *
   * @throws NotFound for a pack, which has files only
   */
  choose(asset: AssetRecord, variant: Variant): AssetBlobRef {
    const [source] = asset.files
    if (!source || asset.kind === 'pack') throw new NotFound('file')
    const { lod } = asset.variants
    const wanted = variant === 'lod' || (variant === 'auto' && asset.defaultVariant === 'lod')
    if (wanted && lod && asset.lodSha256) {
      const { path: name, contentType } = source
      return { name, contentType, size: lod.size, sha256: asset.lodSha256, variant: 'lod' }
    }
    const { path: name, contentType, size, sha256 } = source
    return { name, contentType, size, sha256, variant: 'source' }
  }

  /**
   * Opens an asset's file for reading.
   *
   * @param range in bytes, both ends included
   * @throws NotFound
   */
  async open(assetId: string, { variant = 'auto', range }: { variant?: Variant; range?: Range }): Promise<OpenedFile> {
    const chosen = this.choose(await this.get(assetId), variant)
    return { ...chosen, stream: await this.read(assetId, chosen.sha256, range) }
  }

  /** Reads the bytes of a blob of an asset. @throws NotFound when it has been deleted */
  async read(assetId: string, sha256: string, range?: Range): Promise<Readable> {
    try {
      return await this.#parts.storage.get(blobKey(assetId, sha256), range)
    } catch (error) {
      if (error instanceof BlobNotFound) throw new NotFound('asset')
      throw error
    }
  }

  /** Returns digest and size of a stored blob of an asset. @throws NotFound when it has been deleted */
  async sizeOf(assetId: string, sha256: string): Promise<{ sha256: string; size: number }> {
    const head = await this.#parts.storage.head(blobKey(assetId, sha256))
    if (!head) throw new NotFound('asset')
    return { sha256, size: head.size }
  }

  /** Stores a blob of an asset from memory. */
  async store(assetId: string, sha256: string, bytes: Buffer): Promise<void> {
    const body = Readable.from([bytes], { objectMode: false })
    await this.#parts.storage.put(blobKey(assetId, sha256), body, { sha256, size: bytes.length })
  }

  /** Removes everything stored under an asset's id. If the removal fails, the sweep repeats it. */
  async removeBlobs(assetId: string): Promise<void> {
    const { storage, log } = this.#parts
    try {
      for await (const { key } of storage.list(`${BLOB_PREFIX}${assetId}/`)) await storage.delete(key)
    } catch (error) {
      log.warn({ err: error, asset: assetId }, 'deleting the bytes of an asset failed; the next sweep repeats it')
    }
  }

  /** Returns the asset that was made from a job's output; null when there is none. */
  async ofJob(jobId: string, ownerId: string): Promise<AssetRecord | null> {
    return this.#one('a.source_job_id = ? and a.owner_id = ?', [jobId, ownerId])
  }

  #read(idOrSlug: string): Promise<AssetRecord | null> {
    return isId('ast', idOrSlug) ? this.#one('a.id = ?', [idOrSlug]) : this.#bySlug(idOrSlug)
  }

  /** An earlier slug of the asset finds it too, unless the asset was deleted. */
  async #bySlug(slug: string): Promise<AssetRecord | null> {
    const now = await this.#one('a.slug = ?', [slug])
    if (now) return now
    return this.#one('a.id = (select f.asset_id from former_asset_slugs f where f.slug = ?)', [slug])
  }

  async #one(where: string, values: string[]): Promise<AssetRecord | null> {
    const [asset] = await readAssets(this.#parts, { where, values, limit: 1 })
    return asset ?? null
  }
}
