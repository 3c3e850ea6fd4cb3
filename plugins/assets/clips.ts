import { createReadStream } from 'node:fs'
import { NotFound } from '../../core/errors.ts'
import type { Assets, AssetsParts } from './assets.ts'
import { AssetClip, AssetRow } from './entities.ts'
import { NotRigged } from './errors.ts'
import { digestFile } from './files.ts'
import { PRESETS, type PresetName } from './models/humanoid/presets.ts'
import { type AssetRecord, blobKey } from './record.ts'
import type { Piece } from './serving/delivery.ts'

/** Grows when the clips change, so that those made before are made anew. */
const VERSION = 1

/** Names of the clips that a humanoid can be given. */
export const PRESET_NAMES = Object.keys(PRESETS) as PresetName[]

/** Clips for rigged models, made when they are first asked for. A model never changes, so each is made once. */
export class Clips {
  readonly #parts: AssetsParts
  readonly #assets: Assets
  readonly #making = new Map<string, Promise<Piece>>()

  constructor(parts: AssetsParts, assets: Assets) {
    this.#parts = parts
    this.#assets = assets
  }

  /**
   * The model with the clip of a preset.
   *
   * @throws NotFound for an unknown preset; NotRigged for what has no humanoid rig
   */
  async get(asset: AssetRecord, preset: string): Promise<Piece> {
    if (!isPreset(preset))
      throw new NotFound('animation preset').with({ details: [{ path: 'preset', message: CHOICE }] })
    if (asset.kind !== 'model' || !asset.rigged) throw new NotRigged('This asset has no rig that could be animated.')
    if (!asset.humanoid) throw new NotRigged(NO_HUMANOID)
    const version = `${preset}@${VERSION}`
    const [row] = await this.#parts.db.query<{ sha256: string; size: number }>(
      'select sha256, size from asset_clips where asset_id = ? and preset = ?',
      [asset.id, version],
    )
    if (row) return pieceOf(asset, preset, row)
    const key = `${asset.id} ${version}`
    const making = this.#making.get(key) ?? this.#make(asset, preset, version).finally(() => this.#making.delete(key))
    this.#making.set(key, making)
    return making
  }

  async #make(asset: AssetRecord, preset: PresetName, version: string): Promise<Piece> {
    const { spool, models, storage, db } = this.#parts
    const [source] = asset.files
    if (!source) throw new NotFound('asset')
    const path = await spool.take(await this.#assets.read(asset.id, source.sha256))
    const out = spool.reserve()
    try {
      const animated = await models.run({ task: 'animate', path, out, preset })
      if (!animated) throw new NotRigged(NO_HUMANOID)
      const { sha256, size } = await digestFile(out)
      const body = createReadStream(out)
      await storage.put(blobKey(asset.id, sha256), body, { sha256, size }).finally(() => body.destroy())
      const kept = await db.transaction(async (em) => {
        // Deleted meanwhile: then nothing would ever remove it.
        if (!(await em.count(AssetRow, { id: asset.id }))) return false
        await em.upsert(AssetClip, { assetId: asset.id, preset: version, sha256, size })
        return true
      })
      if (!kept) {
        await this.#assets.removeBlobs(asset.id)
        throw new NotFound('asset')
      }
      return pieceOf(asset, preset, { sha256, size })
    } finally {
      await spool.remove(path)
      await spool.remove(out)
    }
  }
}

const CHOICE = `must be one of ${PRESET_NAMES.join(', ')}`
const NO_HUMANOID =
  'The rig of this model is no humanoid whose bones are named as in Mixamo, VRM, Rigify, Unreal or Ready Player Me.'

const isPreset = (name: string): name is PresetName => Object.hasOwn(PRESETS, name)

const pieceOf = (asset: AssetRecord, preset: string, { sha256, size }: { sha256: string; size: number }): Piece => ({
  ...{ sha256, size, contentType: 'model/gltf-binary', name: `${asset.slug}-${preset}.glb`, variant: null },
})
