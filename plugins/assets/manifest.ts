import { type Applied, PRESET_NAMES } from './clips.ts'
import type { AssetRecord } from './record.ts'
import type { AssetManifest } from './schemas.ts'

/** Creates the manifest of an asset for programs, with all its addresses. */
export function manifestOf(asset: AssetRecord, clips: readonly Applied[]): AssetManifest {
  const { fileUrl: url, variants, files, kind } = asset
  const of = (variant: string) => `${url}?variant=${variant}`
  return {
    id: asset.id,
    slug: asset.slug,
    kind,
    author: asset.author,
    license: asset.license,
    thumbnailUrl: asset.thumbnailUrl,
    rigged: asset.rigged,
    animations: asset.animations,
    url,
    variants: {
      source: { ...variants.source, url: of('source') },
      ...(variants.lod ? { lod: { ...variants.lod, url: of('lod') } } : {}),
    },
    files: files.map(({ path, size, sha256, contentType }) => ({
      path,
      size,
      sha256,
      contentType,
      url: kind === 'pack' ? packFileUrl(asset, path) : of('source'),
    })),
    presets:
      asset.kind === 'model' && asset.rigged && asset.humanoid
        ? PRESET_NAMES.map((preset) => ({ preset, url: clipUrl(asset, preset) }))
        : [],
    clips: clips.map((applied) => ({ ...applied, url: clipUrl(asset, applied.clip, applied.from) })),
  }
}

/** Returns the address of a file of a pack, at which the relative references of a model lead to its other files. */
export const packFileUrl = ({ fileUrl }: Pick<AssetRecord, 'fileUrl'>, path: string): string =>
  `${fileUrl}s/${path.split('/').map(encodeURIComponent).join('/')}`

/**
 * Returns the address of a model with a clip.
 *
 * @param from the id of the asset that contains the clip; absent for a preset
 */
export const clipUrl = ({ fileUrl }: AssetRecord, clip: string, from?: string): string =>
  `${fileUrl.slice(0, -'/file'.length)}${clipPath(clip, from)}`

/** Returns the same address relative to the asset's address. */
export const clipPath = (clip: string, from?: string): string =>
  `/animation/${encodeURIComponent(clip)}${from === undefined ? '' : `?from=${from}`}`
