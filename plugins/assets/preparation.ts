import { createReadStream } from 'node:fs'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { LockMode } from '@mikro-orm/core'
import { NotFound } from '../../core/errors.ts'
import { ImageRefusal } from '../../core/images/images.ts'
import type { AssetStore, AssetsParts } from './asset-store.ts'
import { AssetRow } from './entities.ts'
import { InvalidModel, ModelTooCostly } from './errors.ts'
import { type AssetRecord, blobKey, type StoredFile } from './record.ts'
import type { LodReason } from './schemas.ts'
import { STORED_KIND } from './stored-bytes.ts'
import { GLB, GLTF_TYPE } from './upload/file-type.ts'
import { digestFile, type FileDigest } from './upload/local-file.ts'

/** The version of the preparation. An increase prepares existing models again. */
const VERSION = 3
/** The number of existing models that are prepared again at once. */
const RENEWED = 1000
/** A larger picture gets no thumbnail: decoding it would cost more than it is worth. */
const LARGEST_PICTURE = { bytes: 64 * 1024 ** 2, side: 16_384, pixels: 8192 * 8192 }
const THUMBNAIL = { side: 512, fit: 'inside', format: 'png' } as const

/**
 * Creates the derived files of an asset after the upload: a picture and, for a model, a simplified form. It is a
 * durable job. Each file is stored before its row refers to it, and existing files are not created again, so an
 * interruption at any point is safe.
 */
export class Preparation {
  readonly #parts: AssetsParts
  readonly #assets: AssetStore

  constructor(parts: AssetsParts, assets: AssetStore) {
    this.#parts = parts
    this.#assets = assets
  }

  async run(assetId: string, signal: AbortSignal): Promise<void> {
    const { spool } = this.#parts
    try {
      const asset = await this.#assets.get(assetId)
      const face = faceOf(asset)
      if (!face) return
      const path = await spool.take(await this.#assets.read(assetId, face.sha256))
      try {
        if (asset.thumbnailSha256 === null) {
          if (isModel(face)) await this.#drawing(asset, { face, path }, signal)
          else await this.#smallPicture(asset, path, signal)
        }
        if (asset.kind === 'model') await this.#prepareModel(asset, path, signal)
      } finally {
        await spool.remove(path)
      }
    } catch (error) {
      // The asset was deleted in the meantime.
      if (!(error instanceof NotFound)) throw error
    }
  }

  /** Prepares the models again that an earlier version of the program has prepared. */
  async renew(): Promise<void> {
    const { db, jobs } = this.#parts
    const rows = await db.query<{ id: string; owner: string }>(
      `select id, owner_id as owner from assets where kind = 'model' and (prepared_by is null or prepared_by < ?) order by id limit ?`,
      [VERSION, RENEWED],
    )
    await db.transaction(async (em) => {
      for (const { id, owner } of rows) {
        await jobs.enqueue(em, { name: PREPARE, key: id, owner, payload: { assetId: id } })
      }
    })
  }

  async #prepareModel(asset: AssetRecord, path: string, signal: AbortSignal): Promise<void> {
    const { models, db, events } = this.#parts
    const { id, rigged, humanoid, preparedBy } = asset
    if (preparedBy === VERSION) return
    await this.#simplify(asset, path, signal)
    const again = rigged && !humanoid
    const facts = again
      ? await models.run({ task: 'inspect', path }, backgroundOf(asset, signal)).catch(unlessInvalid)
      : null
    await db.em().nativeUpdate(AssetRow, { id }, { preparedBy: VERSION, ...(facts && { humanoid: facts.humanoid }) })
    if (facts?.humanoid) await events.emit('asset.changed', { assetId: id })
  }

  /** Draws a model, in a pack with the files that it refers to. */
  async #drawing(
    asset: AssetRecord,
    { face, path }: { face: StoredFile; path: string },
    signal: AbortSignal,
  ): Promise<void> {
    const { models, spool } = this.#parts
    const out = spool.reserve()
    const files = new Map<string, string>()
    try {
      for (const { path: used, sha256 } of asset.files) {
        if (face.uses?.includes(used)) files.set(used, await spool.take(await this.#assets.read(asset.id, sha256)))
      }
      const beside = asset.kind === 'pack' ? { beside: { path: face.path, files } } : {}
      const task = { task: 'draw', path, out, ...beside } as const
      const drawn = await models.run(task, backgroundOf(asset, signal)).catch(unlessInvalid)
      if (drawn) await this.#storePicture(asset, out)
    } finally {
      await spool.remove(out)
      for (const local of files.values()) await spool.remove(local)
    }
  }

  /** Shrinks an uploaded picture. */
  async #smallPicture(asset: AssetRecord, path: string, signal: AbortSignal): Promise<void> {
    const { images, spool } = this.#parts
    const { size } = await stat(path)
    if (size > LARGEST_PICTURE.bytes) return
    const { side, pixels } = LARGEST_PICTURE
    const task = { bytes: await readFile(path), most: { side, pixels }, leastSide: 1, ...THUMBNAIL }
    const png = await images.resize(task, backgroundOf(asset, signal)).catch((error) => {
      if (error instanceof ImageRefusal) return null
      throw error
    })
    if (!png) return
    const out = spool.reserve()
    try {
      await writeFile(out, png)
      await this.#storePicture(asset, out)
    } finally {
      await spool.remove(out)
    }
  }

  async #storePicture({ id }: AssetRecord, file: string): Promise<void> {
    const { db, events } = this.#parts
    const { sha256 } = await this.#store(id, file)
    // A concurrently rendered thumbnail is kept. If two workers drew this one, the first write counts.
    const rows = await db.em().nativeUpdate(AssetRow, { id, thumbnailSha256: null }, { thumbnailSha256: sha256 })
    if (rows > 0) await events.emit('asset.changed', { assetId: id })
    else if ((await db.em().findOne(AssetRow, { id }))?.thumbnailSha256 !== sha256) {
      await this.#parts.storage.delete(blobKey(id, sha256))
    }
  }

  async #simplify(asset: AssetRecord, path: string, signal: AbortSignal): Promise<void> {
    const { id } = asset
    const { models, spool, db, events, quotas, storage } = this.#parts
    const out = spool.reserve()
    try {
      const task = { task: 'simplify', path, out } as const
      const made = await models.run(task, backgroundOf(asset, signal)).catch(reasonOf)
      if ('reason' in made) return await this.#withoutLod(asset, made.reason)
      const { sha256, size } = await this.#store(id, out)
      const lod = { lodSha256: sha256, lodSize: size, lodTriangles: made.triangles, lodReason: null }
      const known = await db.transaction(async (em) => {
        const row = await em.findOne(AssetRow, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE })
        if (!row) return false
        // The quota admitted the upload, and this follows from it.
        const bytes = size - (row.lodSize ?? 0)
        await quotas.add(em, row.ownerId, { kind: STORED_KIND, bytes }, { admitted: true })
        await em.nativeUpdate(AssetRow, { id }, lod)
        return true
      })
      if (!known) return await this.#assets.removeBlobs(id)
      await events.emit('asset.changed', { assetId: id })
      // The form of an earlier version of the program.
      if (asset.lodSha256 && asset.lodSha256 !== sha256) await storage.delete(blobKey(id, asset.lodSha256))
    } finally {
      await spool.remove(out)
    }
  }

  /** Records the reason, and removes the form that an earlier version of the program made. */
  async #withoutLod({ id, lodSha256 }: AssetRecord, lodReason: LodReason): Promise<void> {
    const { db, events, quotas, storage } = this.#parts
    await db.transaction(async (em) => {
      const row = await em.findOne(AssetRow, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE })
      if (!row) return
      const none = { lodSha256: null, lodSize: null, lodTriangles: null }
      if (row.lodSize) await quotas.remove(em, row.ownerId, { kind: STORED_KIND, bytes: row.lodSize })
      await em.nativeUpdate(AssetRow, { id }, { ...none, lodReason })
    })
    await events.emit('asset.changed', { assetId: id })
    if (lodSha256) await storage.delete(blobKey(id, lodSha256))
  }

  async #store(assetId: string, path: string): Promise<FileDigest> {
    const digest = await digestFile(path)
    const body = createReadStream(path)
    await this.#parts.storage.put(blobKey(assetId, digest.sha256), body, digest).finally(() => body.destroy())
    return digest
  }
}

/** The background job that prepares an asset. */
export const PREPARE = 'assets/prepare'

/** The name of a pack's cover picture beside its models. */
const COVER = /(?:^|\/)(?:cover|preview|thumbnail|sample)[^/]*\.(?:png|jpe?g)$/i
const SHRINKABLE = /^image\/(?:png|jpeg)$/

/** Returns the file that represents an asset. */
function faceOf({ kind, files }: AssetRecord): StoredFile | undefined {
  if (kind === 'model') return files[0]
  const pictures = files.filter(({ contentType }) => SHRINKABLE.test(contentType))
  if (kind === 'image') return pictures[0]
  const cover = pictures.find(({ path }) => COVER.test(path))
  return cover ?? files.find(isModel) ?? pictures[0]
}

const isModel = ({ contentType }: StoredFile): boolean => contentType === GLB.contentType || contentType === GLTF_TYPE

/** Nobody waits for the preparation of an asset. */
const backgroundOf = ({ ownerId }: AssetRecord, signal: AbortSignal) => ({ owner: ownerId, background: true, signal })

/** The reason why there is no simplified form, from an error of the file. */
function reasonOf(error: unknown): { reason: LodReason } {
  if (error instanceof ModelTooCostly) return { reason: 'too_slow' }
  if (error instanceof InvalidModel) return { reason: 'unreadable' }
  throw error
}

/** A model that can't be processed stays unchanged, and its source is served. */
function unlessInvalid(error: unknown): null {
  if (error instanceof InvalidModel) return null
  throw error
}
