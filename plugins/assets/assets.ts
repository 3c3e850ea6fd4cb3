import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { UniqueConstraintViolationException } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import type { Blobs } from '../../core/disk-cache.ts'
import { Conflict, NotFound } from '../../core/errors.ts'
import { isId, newId } from '../../core/ids.ts'
import { ShortCache } from '../../core/short-cache.ts'
import type { Spool } from '../../core/spool.ts'
import { BlobNotFound, type Range } from '../../drivers/storage/interface.ts'
import type { AssetBlob } from './blobs.ts'
import { Changes } from './changes.ts'
import { Clips } from './clips.ts'
import { AssetRow } from './entities.ts'
import { AssetRefused } from './errors.ts'
import { type Intake, type LocalFile, takeIn } from './intake.ts'
import { Library } from './library.ts'
import type { Limits } from './limits.ts'
import type { Models } from './models/models.ts'
import { Preparation } from './preparation.ts'
import { type AssetRecord, BLOB_PREFIX, blobKey } from './record.ts'
import { readAssets } from './rows.ts'
import type { Asset, AssetSource, NewAsset, Variant } from './schemas.ts'
import { indexAsset } from './search.ts'
import { Delivery, type Piece } from './serving/delivery.ts'
import { freeSlug, slugFrom } from './slugs.ts'

declare module '../../core/events.ts' {
  interface DomainEvents {
    'asset.created': { assetId: string; ownerId: string }
    /** Anything of an asset has changed, its variants and its thumbnail included. */
    'asset.changed': { assetId: string }
    'asset.deleted': { assetId: string }
  }
}

export type AssetsParts = Pick<FastifyInstance, 'db' | 'clock' | 'events' | 'storage' | 'jobs' | 'origins' | 'log'> & {
  models: Models
  limits: Limits
  spool: Spool
  /** What is served is read here. */
  blobs: Blobs<AssetBlob>
}

/** A file of an asset, ready to be read. */
export interface OpenedFile extends Piece {
  stream: Readable
}

/** `auto` gives the simplified form of what is larger. */
const AUTO_BYTES = 1024 * 1024
const THUMBNAIL_BYTES = 4 * 1024 * 1024
const PNG = '\x89PNG\r\n\x1a\n'
/** Somebody else may take the slug between looking and writing. */
const SLUG_TRIES = 5

/** 3D models, packs of them, pictures and sounds, hosted for games to hot-link. */
export class Assets {
  readonly library: Library
  readonly changes: Changes
  readonly clips: Clips
  readonly delivery: Delivery
  readonly preparation: Preparation
  readonly #parts: AssetsParts
  readonly #records: ShortCache<AssetRecord>

  constructor(parts: AssetsParts) {
    this.#parts = parts
    this.library = new Library(parts)
    this.changes = new Changes(parts, this)
    this.clips = new Clips(parts, this)
    this.delivery = new Delivery(parts)
    this.preparation = new Preparation(parts, this)
    this.#records = new ShortCache(parts.clock)
    const forget = ({ assetId }: { assetId: string }) => this.#records.dropWhere(({ id }) => id === assetId)
    parts.events.on('asset.changed', forget)
    parts.events.on('asset.deleted', forget)
  }

  /**
   * Takes a file in: looks at its bytes, stores them, and queues what is made of them (a picture, a simplified form). A job's
   * output is taken in once: asked again with the same `source.jobId`, it answers with the asset that there is.
   *
   * @param file is copied, and stays the caller's
   * @throws InvalidModel, AssetRefused, PayloadTooLarge, StorageFull saying what is wrong: nothing is kept
   */
  async create(ownerId: string, fields: NewAsset, file: LocalFile): Promise<Asset> {
    const { clock, events } = this.#parts
    const jobId = fields.source?.jobId ?? null
    const made = jobId === null ? null : await this.#one('a.source_job_id = ? and a.owner_id = ?', [jobId, ownerId])
    if (made) return made
    const now = clock.now()
    const id = newId('ast', now)
    try {
      const intake = await takeIn(this.#parts, id, file)
      if (fields.kind && fields.kind !== intake.kind) {
        throw new AssetRefused(`The file is of the kind ${intake.kind}, not ${fields.kind}.`)
      }
      await this.#insert({ id, ownerId, now, fields, intake })
    } catch (error) {
      await this.removeBlobs(id)
      if (error instanceof UniqueConstraintViolationException && jobId !== null) {
        // The same job was taken in by two at once.
        const other = await this.#one('a.source_job_id = ? and a.owner_id = ?', [jobId, ownerId])
        if (other) return other
      }
      throw error
    }
    await events.emit('asset.created', { assetId: id, ownerId })
    return this.get(id)
  }

  /**
   * The asset at an id or slug, for whoever may see it; null when there is none. From memory, at most 5 s old.
   *
   * @param viewerId null: somebody who is not signed in
   */
  async find(idOrSlug: string, viewerId: string | null): Promise<AssetRecord | null> {
    const asset = await this.#records.get(idOrSlug, () => this.#read(idOrSlug))
    if (!asset || (asset.visibility === 'private' && asset.ownerId !== viewerId)) return null
    return asset
  }

  /** As it stands in the database, whoever asks. @throws NotFound */
  async get(idOrSlug: string): Promise<AssetRecord> {
    const asset = await this.#read(idOrSlug)
    if (!asset) throw new NotFound('asset')
    return asset
  }

  /** An asset of the player's own. @throws NotFound also when it is another's: nobody learns that it exists */
  async mustOwn(playerId: string, idOrSlug: string): Promise<AssetRecord> {
    const asset = await this.get(idOrSlug)
    if (asset.ownerId !== playerId) throw new NotFound('asset')
    return asset
  }

  /**
   * Which bytes a variant comes to: `lod` is the source where there is none, and `auto` the simplified form of a
   * source over 1 MiB.
   *
   * @throws NotFound for a pack, which has files only
   */
  choose(asset: AssetRecord, variant: Variant): Piece {
    const [source] = asset.files
    if (!source || asset.kind === 'pack') throw new NotFound('file')
    const { lod } = asset.variants
    const wanted = variant === 'lod' || (variant === 'auto' && source.size > AUTO_BYTES)
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

  /** The bytes of a piece of an asset. @throws NotFound when it has been deleted */
  async read(assetId: string, sha256: string, range?: Range): Promise<Readable> {
    try {
      return await this.#parts.storage.get(blobKey(assetId, sha256), range)
    } catch (error) {
      if (error instanceof BlobNotFound) throw new NotFound('asset')
      throw error
    }
  }

  /**
   * Shows an asset by a rendered picture from now on.
   *
   * @param png whole; a square of 512 pixels or so
   * @throws AssetRefused, NotFound
   */
  async setThumbnail(assetId: string, png: Buffer): Promise<void> {
    const { db, events } = this.#parts
    if (png.length > THUMBNAIL_BYTES || png.toString('latin1', 0, 8) !== PNG) {
      throw new AssetRefused('A thumbnail is a PNG of at most 4 MiB.')
    }
    const before = await this.get(assetId)
    const sha256 = createHash('sha256').update(png).digest('hex')
    if (sha256 === before.thumbnailSha256) return
    await this.store(assetId, sha256, png)
    const thumbnailSha256 = sha256
    const rows = await db.em().nativeUpdate(AssetRow, { id: assetId }, { thumbnailSha256 })
    if (rows === 0) {
      await this.removeBlobs(assetId)
      throw new NotFound('asset')
    }
    await events.emit('asset.changed', { assetId })
    if (before.thumbnailSha256) await this.#parts.storage.delete(blobKey(assetId, before.thumbnailSha256))
  }

  /** What a stored piece of an asset is, by its digest. @throws NotFound when it has been deleted */
  async sizeOf(assetId: string, sha256: string): Promise<{ sha256: string; size: number }> {
    const head = await this.#parts.storage.head(blobKey(assetId, sha256))
    if (!head) throw new NotFound('asset')
    return { sha256, size: head.size }
  }

  /** Stores a piece of an asset that is in memory. */
  async store(assetId: string, sha256: string, bytes: Buffer): Promise<void> {
    const body = Readable.from([bytes], { objectMode: false })
    await this.#parts.storage.put(blobKey(assetId, sha256), body, { sha256, size: bytes.length })
  }

  /** Removes everything stored under an asset's id. What can't be removed now, the sweep finds. */
  async removeBlobs(assetId: string): Promise<void> {
    const { storage, log } = this.#parts
    try {
      for await (const { key } of storage.list(`${BLOB_PREFIX}${assetId}/`)) await storage.delete(key)
    } catch (error) {
      log.warn({ err: error, asset: assetId }, 'bytes of an asset wait for the next sweep')
    }
  }

  async #insert(asset: { id: string; ownerId: string; now: Date; fields: NewAsset; intake: Intake }): Promise<void> {
    const { db, jobs } = this.#parts
    const { id, ownerId, now, fields, intake } = asset
    const source: AssetSource = fields.source ?? { kind: 'upload' }
    const title = fields.title.trim()
    const tags = [...new Set(fields.tags ?? [])]
    const insert = async (em: SqlEntityManager) => {
      await em.insert(AssetRow, {
        ...{ id, ownerId, title, tags, ...intake },
        slug: await freeSlug(em, slugFrom(title), ownerId),
        description: fields.description ?? '',
        visibility: fields.visibility ?? 'private',
        license: fields.license || null,
        curated: false,
        ...{ lodSha256: null, lodSize: null, lodTriangles: null, thumbnailSha256: null },
        ...{ sourceKind: source.kind, sourceJobId: source.jobId ?? null },
        ...{ createdAt: now, updatedAt: now },
      })
      await indexAsset(em, { id, title, tags })
      if (intake.kind === 'model') await jobs.enqueue(em, { name: 'assets/prepare', key: id, payload: { assetId: id } })
    }
    for (let tries = 1; ; tries++) {
      try {
        return await db.transaction(insert)
      } catch (error) {
        const taken = error instanceof UniqueConstraintViolationException && !/source_job_id/.test(error.message)
        if (!taken) throw error
        if (tries === SLUG_TRIES) throw new Conflict('Many assets of this title come at once; try again.')
      }
    }
  }

  #read(idOrSlug: string): Promise<AssetRecord | null> {
    return isId('ast', idOrSlug) ? this.#one('a.id = ?', [idOrSlug]) : this.#bySlug(idOrSlug)
  }

  /** A slug that the asset had before leads to it too, unless the asset is gone. */
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
