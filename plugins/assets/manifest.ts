import { PRESET_NAMES } from './clips.ts'
import type { AssetRecord } from './record.ts'
import type { AssetManifest } from './schemas.ts'

/** What a program loads an asset by: every address it can ask for. */
export function manifestOf(asset: AssetRecord): AssetManifest {
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
  }
}

/** Where a model with a clip is asked for. */
export const clipUrl = ({ fileUrl }: AssetRecord, preset: string): string =>
  `${fileUrl.slice(0, -'/file'.length)}/animation/${preset}`
