import { type Applied, PRESET_NAMES } from './clips.ts'
import type { AssetRecord } from './record.ts'
import type { AssetManifest } from './schemas.ts'

/** The manifest of an asset for programs: every address of it. */
export function manifestOf(asset: AssetRecord, clips: readonly Applied[]): AssetManifest {
  const { fileUrl: url, variants, files, kind } = asset
  const of = (variant: string) => `${url}?variant=${variant}`
  return {
    ...{ id: asset.id, slug: asset.slug, kind, license: asset.license, thumbnailUrl: asset.thumbnailUrl },
    ...{ rigged: asset.rigged, animations: asset.animations, url },
    variants: {
      source: { ...variants.source, url: of('source') },
      ...(variants.lod ? { lod: { ...variants.lod, url: of('lod') } } : {}),
    },
    files: files.map(({ path, size, sha256, contentType }) => ({
      ...{ path, size, sha256, contentType },
      url: kind === 'pack' ? `${url}?path=${encodeURIComponent(path)}` : of('source'),
    })),
    presets: asset.humanoid ? PRESET_NAMES.map((preset) => ({ preset, url: clipUrl(asset, preset) })) : [],
    clips: clips.map((applied) => ({ ...applied, url: clipUrl(asset, applied.clip, applied.from) })),
  }
}

/** Where a model with a clip is asked for. @param from the id of the asset whose clip it is; absent, it is a preset */
export const clipUrl = ({ fileUrl }: AssetRecord, clip: string, from?: string): string =>
  `${fileUrl.slice(0, -'/file'.length)}${clipPath(clip, from)}`

/** The same, below an asset's address. */
export const clipPath = (clip: string, from?: string): string =>
  `/animation/${encodeURIComponent(clip)}${from === undefined ? '' : `?from=${from}`}`
