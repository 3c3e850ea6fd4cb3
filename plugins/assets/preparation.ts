import { createReadStream } from 'node:fs'
import { NotFound } from '../../core/errors.ts'
import type { Assets, AssetsParts } from './assets.ts'
import { AssetRow } from './entities.ts'
import { InvalidModel } from './errors.ts'
import { GLB } from './file-type.ts'
import { digestFile, type FileDigest } from './files.ts'
import { type AssetRecord, blobKey, type StoredFile } from './record.ts'

/**
 * What is made of an asset after it was taken in: a picture of it and, of a model, a simplified form. A durable job: each part is
 * stored before its row tells of it, and what is there already is not made again, so it does not matter where this is
 * interrupted.
 */
export class Preparation {
  readonly #parts: AssetsParts
  readonly #assets: Assets

  constructor(parts: AssetsParts, assets: Assets) {
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
          await this.#picture(asset, { task: face.contentType === GLB.contentType ? 'draw' : 'shrink', path }, signal)
        }
        if (asset.kind === 'model' && asset.lodSha256 === null) await this.#simplify(asset, path, signal)
      } finally {
        await spool.remove(path)
      }
    } catch (error) {
      // Deleted meanwhile.
      if (!(error instanceof NotFound)) throw error
    }
  }

  async #picture(
    { id }: AssetRecord,
    { task, path }: { task: 'draw' | 'shrink'; path: string },
    signal: AbortSignal,
  ): Promise<void> {
    const { models, spool, db, events } = this.#parts
    const out = spool.reserve()
    try {
      const drawn = await models.run({ task, path, out }, signal).catch(unlessInvalid)
      if (!drawn) return
      const { sha256 } = await this.#store(id, out)
      // A rendered one that came meanwhile stays; so does this very one, when two workers have drawn it.
      const rows = await db.em().nativeUpdate(AssetRow, { id, thumbnailSha256: null }, { thumbnailSha256: sha256 })
      if (rows > 0) await events.emit('asset.changed', { assetId: id })
      else if ((await db.em().findOne(AssetRow, { id }))?.thumbnailSha256 !== sha256) {
        await this.#parts.storage.delete(blobKey(id, sha256))
      }
    } finally {
      await spool.remove(out)
    }
  }

  async #simplify({ id }: AssetRecord, path: string, signal: AbortSignal): Promise<void> {
    const { models, spool, db, events } = this.#parts
    const out = spool.reserve()
    try {
      const made = await models.run({ task: 'simplify', path, out }, signal).catch(unlessInvalid)
      if (!made) return
      const { sha256, size } = await this.#store(id, out)
      const lod = { lodSha256: sha256, lodSize: size, lodTriangles: made.triangles }
      const rows = await db.em().nativeUpdate(AssetRow, { id }, lod)
      if (rows === 0) await this.#assets.removeBlobs(id)
      else await events.emit('asset.changed', { assetId: id })
    } finally {
      await spool.remove(out)
    }
  }

  async #store(assetId: string, path: string): Promise<FileDigest> {
    const digest = await digestFile(path)
    const body = createReadStream(path)
    await this.#parts.storage.put(blobKey(assetId, digest.sha256), body, digest).finally(() => body.destroy())
    return digest
  }
}

/** Beside a pack's models: what its maker took for its cover. */
const COVER = /(?:^|\/)(?:cover|preview|thumbnail|sample)[^/]*\.(?:png|jpe?g)$/i
const SHRINKABLE = /^image\/(?:png|jpeg)$/

/** The file that an asset is shown by. */
function faceOf({ kind, files }: AssetRecord): StoredFile | undefined {
  if (kind === 'model') return files[0]
  const pictures = files.filter(({ contentType }) => SHRINKABLE.test(contentType))
  if (kind === 'image') return pictures[0]
  const cover = pictures.find(({ path }) => COVER.test(path))
  return cover ?? files.find(({ contentType }) => contentType === GLB.contentType) ?? pictures[0]
}

/** A model that can't be worked on stays as it is: the source is served. */
function unlessInvalid(error: unknown): null {
  if (error instanceof InvalidModel) return null
  throw error
}
