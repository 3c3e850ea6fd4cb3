import type { Origins } from '../../core/origins/origins.ts'
import { attributionOf } from './license.ts'
import type { Asset, AssetSource, Kind, LodChoice, LodReason, Visibility } from './schemas.ts'

/** A file of an asset in the form that its row stores. */
export interface StoredFile {
  path: string
  size: number
  sha256: string
  contentType: string
  /** CRC-32, for the ZIP of a pack. */
  crc32: number
  /** The paths of the files in its pack that a model refers to. */
  uses?: string[]
}

/** The columns of an asset, for `app.db.query`. */
export const COLUMNS = `a.id, a.owner_id, a.game_id, a.slug, a.title, a.description, a.kind, a.visibility, a.curated, a.author,
  a.license, a.tags, a.files, a.size, a.triangles, a.rigged, a.humanoid, a.animations, a.lod_sha256, a.lod_size,
  a.lod_triangles, a.lod_reason, a.lod_choice, a.prepared_by, a.thumbnail_sha256, a.source_kind, a.source_job_id,
  a.suspended_at, a.suspension_reason, a.appeal, a.created_at, a.updated_at,
  (select p.name from players p where p.id = a.owner_id) as owner_name`

/** A row in the form of `app.db.query`: times in ms, booleans as 0 and 1, JSON as text. */
export interface PlainAsset {
  id: string
  owner_id: string
  /** Null when the account was deleted. */
  owner_name: string | null
  game_id: string | null
  slug: string
  title: string
  description: string
  kind: Kind
  visibility: Visibility
  curated: number
  author: string | null
  license: string | null
  tags: string
  files: string
  size: number | string
  triangles: number | null
  rigged: number
  humanoid: number
  animations: string
  lod_sha256: string | null
  lod_size: number | null
  lod_triangles: number | null
  lod_reason: LodReason | null
  lod_choice: LodChoice | null
  prepared_by: number | null
  thumbnail_sha256: string | null
  source_kind: AssetSource['kind']
  source_job_id: string | null
  suspended_at: number | null
  suspension_reason: string | null
  appeal: string | null
  created_at: number
  updated_at: number
}

/** An asset with the internal fields that serving requires and no response contains. */
export interface AssetRecord extends Omit<Asset, 'files'> {
  files: StoredFile[]
  humanoid: boolean
  lodSha256: string | null
  preparedBy: number | null
  thumbnailSha256: string | null
  /** The owner's answer to a suspension. */
  appeal: string | null
}

/** The default address serves the simplified form of a source of more bytes. */
const AUTO_BYTES = 1024 * 1024

export function toRecord(row: PlainAsset, origins: Origins): AssetRecord {
  const { lod_size: size, lod_triangles: triangles } = row
  const lod = row.lod_choice ?? 'auto'
  const servesLod = lod === 'auto' && size !== null && row.kind !== 'pack' && Number(row.size) > AUTO_BYTES
  return {
    id: row.id,
    slug: row.slug,
    title: row.title,
    description: row.description,
    kind: row.kind,
    visibility: row.visibility,
    curated: Boolean(row.curated),
    author: row.author,
    license: row.license,
    attribution: attributionOf(row, row.visibility === 'public' ? `${origins.portal}${pathOf(row)}` : null),
    tags: JSON.parse(row.tags) as string[],
    ownerId: row.owner_id,
    gameId: row.game_id,
    files: JSON.parse(row.files) as StoredFile[],
    variants: {
      source: { size: Number(row.size), triangles: row.triangles },
      ...(size === null ? {} : { lod: { size, triangles } }),
    },
    lodReason: row.lod_reason,
    lod,
    defaultVariant: servesLod ? 'lod' : 'source',
    rigged: Boolean(row.rigged),
    animations: JSON.parse(row.animations) as string[],
    thumbnailUrl: `${origins.studio}/api/assets/${row.id}/thumbnail`,
    fileUrl: `${origins.studio}/api/assets/${row.slug}/file`,
    source: { kind: row.source_kind, ...(row.source_job_id === null ? {} : { jobId: row.source_job_id }) },
    suspended:
      row.suspended_at === null
        ? null
        : { reason: row.suspension_reason ?? '', at: new Date(row.suspended_at).toISOString() },
    appeal: row.appeal,
    createdAt: new Date(row.created_at).toISOString(),
    updatedAt: new Date(row.updated_at).toISOString(),
    humanoid: Boolean(row.humanoid),
    lodSha256: row.lod_sha256,
    preparedBy: row.prepared_by,
    thumbnailSha256: row.thumbnail_sha256,
  }
}

/** Returns the key of a stored blob. Ids are never reused and digests identify bytes, so the blob is immutable. */
export const blobKey = (assetId: string, sha256: string): string => `${BLOB_PREFIX}${assetId}/${sha256}`
export const BLOB_PREFIX = 'assets/'

/** Returns the extension of an asset's address at games, such as `glb` or `png`; null for a pack, whose files have paths. */
export function gameExtension({ kind, files }: Pick<AssetRecord, 'kind' | 'files'>): string | null {
  if (kind === 'pack') return null
  // A model is served as a GLB, also one that was uploaded as a VRM.
  return kind === 'image' || kind === 'audio' ? (files[0]?.path.split('.').pop() ?? null) : 'glb'
}

/** Returns the path of an asset's page on the portal. */
export const pathOf = (asset: { slug: string }): string => `/assets/${asset.slug}`
