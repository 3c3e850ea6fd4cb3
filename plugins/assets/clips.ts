import { createReadStream } from 'node:fs'
import { LockMode } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import { NotFound } from '../../core/errors.ts'
import { isId } from '../../core/ids.ts'
import type { AssetStore, AssetsParts } from './asset-store.ts'
import { AppliedClip, AssetClip, AssetRow } from './entities.ts'
import { ClipDoesNotFit, NotRigged, TooManyClips } from './errors.ts'
import { PRESETS, type PresetName } from './models/humanoid/presets.ts'
import type { ModelTask } from './models/worker-messages.ts'
import { type AssetRecord, blobKey } from './record.ts'
import type { AssetBlobRef } from './serving/delivery.ts'
import { STORED_KIND } from './stored-bytes.ts'
import { digestFile, type FileDigest } from './upload/local-file.ts'

/** The version of the clips. An increase makes existing clips obsolete, so they are created again. */
const VERSION = 2

/** The names of the clips that fit a humanoid. */
export const PRESET_NAMES = Object.keys(PRESETS) as PresetName[]

/** A clip of another asset that was applied to a model. */
export interface Applied {
  /** The id of the other asset. */
  from: string
  clip: string
  size: number
}

type Made = Pick<FileDigest, 'sha256' | 'size'>
type Wanted = Extract<ModelTask, { task: 'animate' }>['clip']

/** Clips for rigged models, created at the first request. A model never changes, so each is created once. */
export class Clips {
  readonly #parts: AssetsParts
  readonly #assets: AssetStore
  readonly #making = new Map<string, Promise<Made>>()

  constructor(parts: AssetsParts, assets: AssetStore) {
    this.#parts = parts
    this.#assets = assets
  }

  /**
   * Returns the model with the clip of a preset.
   *
   * @throws NotFound for an unknown preset; NotRigged for a model without a humanoid rig
   */
  async get(asset: AssetRecord, preset: string): Promise<AssetBlobRef> {
    if (!isPreset(preset))
      throw new NotFound('animation preset').with({ details: [{ path: 'preset', message: CHOICE }] })
    assertRigged(asset)
    if (!asset.humanoid) throw new NotRigged(NO_HUMANOID)
    const version = `${preset}@${VERSION}`
    const [row] = await this.#parts.db.query<Made>(
      'select sha256, size from asset_clips where asset_id = ? and preset = ?',
      [asset.id, version],
    )
    const keep = async (em: SqlEntityManager, { sha256, size }: Made) => {
      const key = { assetId: asset.id, preset: version }
      const before = await em.find(AssetClip, { assetId: asset.id, preset: { $in: [version, ...obsolete(preset)] } })
      await em.nativeDelete(AssetClip, { assetId: asset.id, preset: { $in: obsolete(preset) } })
      // Any viewer of a model may request a clip, so the owner's quota does not prevent it.
      const bytes = size - before.reduce((sum, row) => sum + row.size, 0)
      await this.#parts.quotas.add(em, asset.ownerId, { kind: STORED_KIND, bytes }, { admitted: true })
      await em.upsert(AssetClip, { ...key, sha256, size })
    }
    const made = row ?? (await this.#once(`${asset.id} ${version}`, () => this.#make(asset, { preset }, keep)))
    return pieceOf(asset, preset, made)
  }

  /**
   * Adds a clip of another asset to a model permanently.
   *
   * @param source an asset that the model's owner may see
   * @throws NotRigged, ClipDoesNotFit, TooManyClips, QuotaExceeded; NotFound when it has no clip of that name
   */
  async apply(asset: AssetRecord, source: AssetRecord, clip: string): Promise<Applied> {
    assertRigged(asset)
    const [file] = source.files
    if (!file || !source.animations.includes(clip)) throw noSuchClip(source)
    const { db, spool } = this.#parts
    const there = await db.em().findOne(AppliedClip, { assetId: asset.id, fromId: source.id, clip })
    if (there?.madeBy === VERSION) return { from: source.id, clip, size: there.size }
    const made = await this.#once(`${asset.id} ${source.id} ${clip}`, async () => {
      await this.#assertRoom(db.em(), asset.id, there ? 1 : 0)
      const from = await spool.take(await this.#assets.read(source.id, file.sha256))
      try {
        return await this.#make(asset, { from, name: clip }, async (em, { sha256, size }) => {
          const key = { assetId: asset.id, fromId: source.id, clip }
          const before = await em.findOne(AppliedClip, key)
          await this.#assertRoom(em, asset.id, before ? 1 : 0)
          const bytes = size - (before?.size ?? 0)
          await this.#parts.quotas.add(em, asset.ownerId, { kind: STORED_KIND, bytes })
          await em.upsert(AppliedClip, { ...key, madeBy: VERSION, sha256, size })
        })
      } finally {
        await spool.remove(from)
      }
    })
    return { from: source.id, clip, size: made.size }
  }

  /** Returns the model with an applied clip. @param from the id or slug of the other asset @throws NotFound */
  async applied(asset: AssetRecord, from: string, clip: string): Promise<AssetBlobRef> {
    // The call throws if the clip's asset is suspended; the lookup is cached. The clip of a deleted or private asset
    // stays applied.
    await this.#assets.find(from, null)
    // Whether there is a private asset of that name is nobody's business.
    const key = await this.#keyOf(asset, from, clip).catch((error: unknown) => {
      throw error instanceof NotFound ? new NotFound('animation') : error
    })
    const row = await this.#parts.db.em().findOne(AppliedClip, key)
    if (!row) throw new NotFound('animation')
    return pieceOf(asset, clip, row)
  }

  /** Removes an applied clip from a model. @throws NotFound */
  async remove(asset: AssetRecord, from: string, clip: string): Promise<void> {
    const { db, quotas, storage } = this.#parts
    const key = await this.#keyOf(asset, from, clip)
    const row = await db.transaction(async (em) => {
      const row = await em.findOne(AppliedClip, key)
      if (!row || (await em.nativeDelete(AppliedClip, { ...key, sha256: row.sha256 })) === 0) return null
      await quotas.remove(em, asset.ownerId, { kind: STORED_KIND, bytes: row.size })
      return row
    })
    if (!row) throw new NotFound('animation')
    // The same clip may have been applied from two assets.
    const { sha256 } = row
    const em = db.em()
    const others =
      (await em.count(AppliedClip, { assetId: asset.id, sha256 })) +
      (await em.count(AssetClip, { assetId: asset.id, sha256 }))
    if (others === 0) await storage.delete(blobKey(asset.id, sha256))
  }

  /** Lists the clips of other assets that a model has, by name. */
  async of(assetId: string): Promise<Applied[]> {
    const rows = await this.#parts.db.em().find(AppliedClip, { assetId }, { orderBy: { clip: 'asc', fromId: 'asc' } })
    return rows.map(({ fromId, clip, size }) => ({ from: fromId, clip, size }))
  }

  /**
   * Removes the clips that earlier versions of the program created and nobody has requested since. The sweep of assets
   * deletes their bytes.
   */
  async sweep(signal: AbortSignal): Promise<void> {
    const { db, quotas } = this.#parts
    const presets = PRESET_NAMES.flatMap(obsolete)
    for (;;) {
      const rows = await db.em().find(AssetClip, { preset: { $in: presets } }, { limit: SWEPT_AT_ONCE })
      for (const { assetId, preset } of rows) {
        if (signal.aborted) return
        await db.transaction(async (em) => {
          const asset = await em.findOne(AssetRow, { id: assetId }, { lockMode: LockMode.PESSIMISTIC_WRITE })
          const row = await em.findOne(AssetClip, { assetId, preset })
          if (!row) return
          await em.nativeDelete(AssetClip, { assetId, preset })
          if (asset) await quotas.remove(em, asset.ownerId, { kind: STORED_KIND, bytes: row.size })
        })
      }
      if (rows.length < SWEPT_AT_ONCE) return
    }
  }

  async #keyOf({ id }: AssetRecord, from: string, clip: string) {
    return { assetId: id, fromId: isId('ast', from) ? from : (await this.#assets.get(from)).id, clip }
  }

  async #assertRoom(em: SqlEntityManager, assetId: string, replaced: number): Promise<void> {
    const { assetClips } = this.#parts.limits
    if ((await em.count(AppliedClip, { assetId })) - replaced >= assetClips) throw new TooManyClips(assetClips)
  }

  /** Concurrent requests share one computation. */
  #once(key: string, make: () => Promise<Made>): Promise<Made> {
    const making = this.#making.get(key) ?? make().finally(() => this.#making.delete(key))
    this.#making.set(key, making)
    return making
  }

  /** @param keep stores the reference to the clip */
  async #make(
    asset: AssetRecord,
    clip: Wanted,
    keep: (em: SqlEntityManager, made: Made) => Promise<unknown>,
  ): Promise<Made> {
    const { spool, models, storage, db } = this.#parts
    const [source] = asset.files
    if (!source) throw new NotFound('asset')
    const path = await spool.take(await this.#assets.read(asset.id, source.sha256))
    const out = spool.reserve()
    try {
      const done = await models.run({ task: 'animate', path, out, clip }, { owner: asset.ownerId })
      if (done === 'no_humanoid') throw new NotRigged(NO_HUMANOID)
      if (done === 'no_clip') throw new NotFound('clip')
      if (done !== 'animated') throw new ClipDoesNotFit(REASONS[done])
      const { sha256, size } = await digestFile(out)
      const body = createReadStream(out)
      await storage.put(blobKey(asset.id, sha256), body, { sha256, size }).finally(() => body.destroy())
      const kept = await db.transaction(async (em) => {
        // The lock serialises the writes of clips. If the asset was deleted in the meantime, nothing would ever remove
        // the clip.
        const held = { lockMode: LockMode.PESSIMISTIC_WRITE, fields: ['id'] as const }
        if (!(await em.findOne(AssetRow, { id: asset.id }, held))) return false
        await keep(em, { sha256, size })
        return true
      })
      if (!kept) {
        await this.#assets.removeBlobs(asset.id)
        throw new NotFound('asset')
      }
      return { sha256, size }
    } finally {
      await spool.remove(path)
      await spool.remove(out)
    }
  }
}

const CHOICE = `must be one of ${PRESET_NAMES.join(', ')}`
const NO_HUMANOID =
  'The rig of this model is no humanoid whose bones are named as in Mixamo, VRM, Rigify, Unreal or Ready Player Me.'
const REASONS = {
  does_not_fit:
    'This clip does not fit the model: they are not both humanoids, nor do their bones have the same names.',
  too_long: 'This clip is longer than 10 minutes.',
} as const

const SWEPT_AT_ONCE = 100

/** Returns the keys of the clips of a preset that earlier versions of the program created. */
const obsolete = (preset: string): string[] => Array.from({ length: VERSION - 1 }, (_, at) => `${preset}@${at + 1}`)

const isPreset = (name: string): name is PresetName => Object.hasOwn(PRESETS, name)

/** @throws NotRigged */
function assertRigged({ kind, rigged }: AssetRecord): void {
  if (kind !== 'model' || !rigged) throw new NotRigged('This asset has no rig that could be animated.')
}

function noSuchClip({ animations }: AssetRecord) {
  const message = animations.length > 0 ? `must be one of ${animations.join(', ')}` : 'is of an asset without clips'
  return new NotFound('clip').with({ details: [{ path: 'clip', message: message.slice(0, 2000) }] })
}

const pieceOf = (asset: AssetRecord, clip: string, { sha256, size }: Made): AssetBlobRef => ({
  sha256,
  size,
  contentType: 'model/gltf-binary',
  variant: null,
  name: `${asset.slug}-${clip.replace(/[^\p{L}\p{N}._-]+/gu, '-')}.glb`,
})
