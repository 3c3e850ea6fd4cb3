import type { CallOptions, Connection } from './connection.ts'
import { type List, list } from './lists.ts'
import { asFile } from './response-body.ts'
import type { Answer, Query } from './types.ts'

export type Asset = Answer<'/api/assets/{id}', 'get'>
export type AssetManifest = Answer<'/api/assets/{id}/manifest', 'get'>
export type AssetClip = Answer<'/api/assets/{id}/animations', 'post'>
export type AssetQuery = Query<'/api/assets', 'get'>

/** Selects a variant of a file, and a file of a pack. */
export interface FileChoice {
  /** `auto` selects the simplified model if it exists and saves enough. Default: `auto` */
  variant?: 'auto' | 'source' | 'lod' | undefined
  /** A file of a pack. Without it, the result is the pack as a ZIP. */
  path?: string | undefined
}

const at = (idOrSlug: string) => `/api/assets/${encodeURIComponent(idOrSlug)}`

/** Fetches one asset. A private asset needs its owner's token with `assets:read`. */
export const getAsset = (connection: Connection, idOrSlug: string, options?: CallOptions): Promise<Asset> =>
  connection.json('GET', at(idOrSlug), { origin: 'studio', ...options })

/** Lists public assets, or your own with `owner: 'me'`. */
export const listAssets = (connection: Connection, { signal, ...query }: CallOptions & AssetQuery = {}): List<Asset> =>
  list(connection, '/api/assets', 'assets', { query: query as Record<string, string>, signal, origin: 'studio' })

/** Fetches the files, variants and animations of an asset with their addresses, for a game's loader. */
export const getAssetManifest = (
  connection: Connection,
  idOrSlug: string,
  options?: CallOptions,
): Promise<AssetManifest> => connection.json('GET', `${at(idOrSlug)}/manifest`, { origin: 'studio', ...options })

/** Returns the address of a file: `loader.load(client.assetUrl('ship'))`. */
export function assetUrl(
  { studioUrl }: Pick<Connection, 'studioUrl'>,
  idOrSlug: string,
  choice: FileChoice = {},
): string {
  const url = new URL(`${at(idOrSlug)}/file`, studioUrl)
  for (const [name, value] of Object.entries(choice)) if (value !== undefined) url.searchParams.set(name, value)
  return url.href
}

/**
 * Returns the address of the asset as a GLB with an animation clip. The clip is a preset (`idle`, `walk`, `run` …) or,
 * with `from`, a clip of that asset which `animateAsset` has added.
 */
export function animationUrl(
  { studioUrl }: Pick<Connection, 'studioUrl'>,
  idOrSlug: string,
  clip: string,
  { from }: { from?: string | undefined } = {},
): string {
  const url = new URL(`${at(idOrSlug)}/animation/${encodeURIComponent(clip)}`, studioUrl)
  if (from !== undefined) url.searchParams.set('from', from)
  return url.href
}

/** A preset, or the name of a clip of another asset. */
export type ClipChoice = { preset: string } | ClipOf
export interface ClipOf {
  /** The id or slug of an asset with clips. */
  from: string
  clip: string
}

/** Adds a clip to your rigged model; the response has its address. Needs `assets:write`. */
export const animateAsset = (
  connection: Connection,
  idOrSlug: string,
  choice: ClipChoice,
  options?: CallOptions,
): Promise<AssetClip> =>
  connection.json('POST', `${at(idOrSlug)}/animations`, {
    body: choice,
    origin: 'studio',
    timeoutMs: 180_000,
    ...options,
  })

/** Removes another asset's clip from your model. Needs `assets:write`. */
export const removeAssetClip = (
  connection: Connection,
  idOrSlug: string,
  { from, clip }: ClipOf,
  options?: CallOptions,
): Promise<void> =>
  connection.json('DELETE', `${at(idOrSlug)}/animations`, { query: { from, clip }, origin: 'studio', ...options })

/** Fetches a file with a streaming body. The header `x-service-variant` names the variant. */
export const getAssetFile = (
  connection: Connection,
  idOrSlug: string,
  { signal, ...choice }: CallOptions & FileChoice = {},
): Promise<Response> =>
  connection.receive(
    'GET',
    `${at(idOrSlug)}/file`,
    { query: choice as Record<string, string>, headers: { accept: '*/*' }, signal, origin: 'studio' },
    asFile,
  )

export interface NewAsset {
  file: Blob
  /** The name with its extension: `ship.glb`. */
  fileName: string
  title: string
  description?: string | undefined
  visibility?: 'public' | 'private' | undefined
  /** An SPDX expression. */
  license?: string | undefined
  /** Who made it, if that isn't you. */
  author?: string | undefined
  tags?: string[] | undefined
  /** The id or slug of a game that you make, whose makers may see and change the asset. */
  gameId?: string | undefined
}

/** Uploads an asset. Needs `assets:write`. */
export function uploadAsset(connection: Connection, asset: NewAsset, options?: CallOptions): Promise<Asset> {
  const { file, fileName, tags, ...fields } = asset
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) form.append(name, value)
  if (tags) form.append('tags', tags.join(' '))
  // The file is last, so that the server knows the fields when the bytes arrive.
  form.append('file', file, fileName)
  return connection.json('POST', '/api/assets', { body: form, origin: 'studio', timeoutMs: 600_000, ...options })
}

/** Deletes an asset. Needs `assets:write`. */
export const deleteAsset = (connection: Connection, idOrSlug: string, options?: CallOptions): Promise<void> =>
  connection.json('DELETE', at(idOrSlug), { origin: 'studio', ...options })
