import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Static } from 'typebox'
import { isUniqueViolation } from '../../core/data/database.ts'
import { Suspensions } from '../../core/data/staff/suspensions.ts'
import { Conflict, InvalidRequest, NotFound } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import { storedTags } from '../../core/tags.ts'
import { visibleText } from '../../core/visible-text.ts'
import { assertRoom } from '../../drivers/storage/interface.ts'
import { ownerAndMakersOf, recordActivity } from '../games/index.ts'
import { AssetStore, type AssetsParts } from './asset-store.ts'
import { Changes } from './changes.ts'
import { Clips } from './clips.ts'
import { AssetRow } from './entities.ts'
import { AssetRefused } from './errors.ts'
import { Library } from './library.ts'
import { correctLicense } from './license.ts'
import { clipUrl } from './manifest.ts'
import { PREPARE, Preparation } from './preparation.ts'
import { type AssetRecord, blobKey } from './record.ts'
import type { Asset, AssetQuery, AssetSource, Clip, NewAsset, NewClip } from './schemas.ts'
import { indexAsset } from './search-index.ts'
import { Delivery } from './serving/delivery.ts'
import { freeSlug, slugFrom } from './slugs.ts'
import { STORED_KIND } from './stored-bytes.ts'
import { type IngestedFile, ingest, type LocalFile } from './upload/ingest.ts'

declare module '../../core/events.ts' {
  interface DomainEvents {
    'asset.created': { assetId: string; ownerId: string }
    /** Anything about an asset changed, including its variants and its thumbnail. */
    'asset.changed': { assetId: string }
    'asset.deleted': { assetId: string }
  }
}

const THUMBNAIL_BYTES = 4 * 1024 * 1024
const PNG = '\x89PNG\r\n\x1a\n'
/** A concurrent caller may take the slug between the check and the write. */
const SLUG_TRIES = 5

/** 3D models, packs of them, pictures and sounds, hosted for games to hot-link. */
export class Assets extends AssetStore {
  readonly library: Library
  readonly changes: Changes
  readonly clips: Clips
  readonly delivery: Delivery
  readonly preparation: Preparation
  readonly suspensions: Suspensions<AssetRecord>
  readonly #parts: AssetsParts

  constructor(parts: AssetsParts) {
    super(parts)
    this.#parts = parts
    this.library = new Library(parts)
    this.changes = new Changes(parts, this)
    this.clips = new Clips(parts, this)
    this.delivery = new Delivery(parts)
    this.preparation = new Preparation(parts, this)
    this.suspensions = new Suspensions<AssetRecord>(parts, {
      noun: 'asset',
      entity: AssetRow,
      get: (idOrSlug) => this.get(idOrSlug),
      mustOwn: (playerId, idOrSlug) => this.mustOwn(playerId, idOrSlug),
      announce: (assetId) => parts.events.emit('asset.changed', { assetId }),
      makerIds: async (em, id) => {
        const row = await em.findOne(AssetRow, { id }, { fields: ['gameId'] })
        return row?.gameId ? ownerAndMakersOf(em, row.gameId) : []
      },
    })
  }

  /**
   * Adds a file to the library: inspects its bytes, stores them, and queues the derived files (a picture, a simplified
   * form). A job's output is added once: a second call with the same `source.jobId` returns the existing asset.
   *
   * @param fields.gameId a game that the owner of the asset makes
   * @param file is copied, and stays the caller's
   * @throws InvalidModel, AssetRefused, PayloadTooLarge, QuotaExceeded, StorageFull saying what is wrong: nothing is kept
   * @throws NotFound of the game
   */
  async create(ownerId: string, fields: NewAsset, file: LocalFile): Promise<Asset> {
    const { clock, events } = this.#parts
    const jobId = fields.source?.jobId ?? null
    const made = jobId === null ? null : await this.ofJob(jobId, ownerId)
    if (made) return made
    const game = fields.gameId === undefined ? null : await this.#parts.games.mustMake(ownerId, fields.gameId)
    const now = clock.now()
    const id = newId('ast', now)
    await this.#parts.quotas.mustHaveRoom(ownerId)
    let repairs: string[] = []
    try {
      const by = { assetId: id, owner: ownerId, kind: fields.kind, repairs: fields.repair === 'true' }
      const { intake, repairs: done } = await ingest(this.#parts, by, file)
      repairs = done
      if (fields.kind && fields.kind !== intake.kind) {
        throw new AssetRefused(`The file is of the kind ${intake.kind}, not ${fields.kind}.`)
      }
      await this.#insert({ id, ownerId, gameId: game?.id ?? null, now, fields, intake })
    } catch (error) {
      await this.removeBlobs(id)
      if (isUniqueViolation(error) && jobId !== null) {
        // A concurrent call stored the output of the same job.
        const other = await this.ofJob(jobId, ownerId)
        if (other) return other
      }
      throw error
    }
    await events.emit('asset.created', { assetId: id, ownerId })
    const asset = await this.get(id)
    return fields.repair === 'true' ? { ...asset, repairs } : asset
  }

  /**
   * Adds a file that arrives as a stream.
   *
   * @param name of the file, from its sender
   * @throws as `create`; UploadCut when the stream breaks off
   */
  async createFrom(
    ownerId: string,
    fields: NewAsset,
    { name, body }: { name: string; body: Readable },
  ): Promise<Asset> {
    const { spool, storage } = this.#parts
    await assertRoom(storage)
    const path = await spool.take(body)
    try {
      return await this.create(ownerId, fields, { path, name })
    } finally {
      await spool.remove(path)
    }
  }

  /**
   * Lists public assets, or those of a player, or of a game that the player makes.
   *
   * @param playerId null for a visitor, who sees the public ones
   * @throws NotFound of the game
   */
  async list(
    playerId: string | null,
    { owner, gameId, ...query }: AssetQuery,
  ): Promise<{ assets: AssetRecord[]; nextCursor: string | null }> {
    if (gameId !== undefined && playerId === null) throw new NotFound('game')
    const game = gameId === undefined ? null : await this.#parts.games.mustMake(playerId as string, gameId)
    return this.library.page(query, owner === 'me' ? playerId : null, { gameId: game?.id ?? null })
  }

  /**
   * Gives a rigged model that the player may change a clip: a preset, or a clip of another asset that the player may see.
   *
   * @throws InvalidRequest unless `wanted` names one or the other; NotFound of the model or the other asset
   */
  async animate(playerId: string, id: string, wanted: NewClip): Promise<Static<typeof Clip>> {
    const asset = await this.mustMake(playerId, id)
    const clip = clipOf(wanted)
    if ('preset' in clip) {
      const { size } = await this.clips.get(asset, clip.preset)
      return { ...clip, size, url: clipUrl(asset, clip.preset) }
    }
    const source = await this.find(clip.from, playerId)
    if (!source) throw new NotFound('asset').with({ details: [{ path: 'from', message: 'is no asset' }] })
    const made = await this.clips.apply(asset, source, clip.clip)
    return { ...made, url: clipUrl(asset, made.clip, made.from) }
  }

  /**
   * Replaces an asset's thumbnail by a rendered picture.
   *
   * @param png complete; a square of about 512 pixels
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

  async #insert(asset: {
    id: string
    ownerId: string
    gameId: string | null
    now: Date
    fields: NewAsset
    intake: IngestedFile
  }): Promise<void> {
    const { db, jobs, quotas, clock } = this.#parts
    const { id, ownerId, gameId, now, fields, intake } = asset
    const source: AssetSource = fields.source ?? { kind: 'upload' }
    const title = visibleText(fields.title)
    const tags = storedTags(fields.tags ?? [])
    const license = fields.license ? correctLicense(fields.license) : null
    const bytes = intake.files.reduce((sum, { size }) => sum + size, 0)
    const uploaded = source.kind === 'upload' ? bytes : 0
    const insert = async (em: SqlEntityManager) => {
      await quotas.admit(em, ownerId, 'assetsPerPlayer')
      await quotas.add(em, ownerId, { kind: STORED_KIND, bytes }, { uploaded })
      await em.insert(AssetRow, {
        id,
        ownerId,
        gameId,
        title,
        tags,
        ...intake,
        fileCount: intake.files.length,
        fileBytes: bytes,
        slug: await freeSlug(em, slugFrom(title), ownerId),
        description: fields.description ?? '',
        visibility: fields.visibility ?? 'private',
        author: fields.author ? visibleText(fields.author) : null,
        license,
        curated: false,
        lodSha256: null,
        lodSize: null,
        lodTriangles: null,
        lodReason: null,
        lodChoice: fields.lod === 'off' ? 'off' : null,
        preparedBy: null,
        thumbnailSha256: null,
        sourceKind: source.kind,
        sourceJobId: source.jobId ?? null,
        createdAt: now,
        updatedAt: now,
      })
      await indexAsset(em, { id, title, tags, license })
      if (gameId !== null) await recordActivity(em, clock, { gameId, action: 'asset.add', target: id, detail: title })
      if (intake.kind === 'audio') return
      await jobs.enqueue(em, { name: PREPARE, key: id, owner: ownerId, payload: { assetId: id } })
    }
    for (let tries = 1; ; tries++) {
      try {
        return await db.transaction(insert)
      } catch (error) {
        const taken = isUniqueViolation(error) && !/source_job_id/.test(String(error))
        if (!taken) throw error
        if (tries === SLUG_TRIES) throw new Conflict('Many assets of this title arrive at once; try again.')
      }
    }
  }
}

/** Returns the requested clip. @throws InvalidRequest */
function clipOf({ preset, from, clip }: NewClip): { preset: string } | { from: string; clip: string } {
  if (preset !== undefined && from === undefined && clip === undefined) return { preset }
  if (preset === undefined && from !== undefined && clip !== undefined) {
    // Clients remove these segments from an address.
    if (/^\.{1,2}$/.test(clip)) throw new InvalidRequest(`A clip named ${clip} has no address; rename it in its file.`)
    return { from, clip }
  }
  throw new InvalidRequest('Send `preset`, or `from` and `clip`: an asset with clips, and the name of one of them.')
}
