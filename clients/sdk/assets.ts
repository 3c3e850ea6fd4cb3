import type { CallOptions, Connection } from './connection.ts'
import { type List, list } from './lists.ts'
import type { Answer, Query } from './types.ts'

export type Asset = Answer<'/api/assets/{id}', 'get'>
export type AssetManifest = Answer<'/api/assets/{id}/manifest', 'get'>
export type AssetClip = Answer<'/api/assets/{id}/animations', 'post'>
export type AssetQuery = Query<'/api/assets', 'get'>

/** Which form of a file, and which file of a pack. */
export interface FileChoice {
  /** `auto` takes the simplified model where there is one and it pays. Default: `auto` */
  variant?: 'auto' | 'source' | 'lod' | undefined
  /** A file of a pack; without it, the pack as a ZIP. */
  path?: string | undefined
}

const at = (idOrSlug: string) => `/api/assets/${encodeURIComponent(idOrSlug)}`

/** One asset. Private ones need their owner's token with `assets:read`. */
export const getAsset = (connection: Connection, idOrSlug: string, options?: CallOptions): Promise<Asset> =>
  connection.json('GET', at(idOrSlug), { origin: 'studio', ...options })

/** Public assets, or with `owner: 'me'` your own. */
export const listAssets = (connection: Connection, { signal, ...query }: CallOptions & AssetQuery = {}): List<Asset> =>
  list(connection, '/api/assets', 'assets', { query: query as Record<string, string>, signal, origin: 'studio' })

/** Files, variants and animations of an asset, each with its address: what a game's loader wants. */
export const getAssetManifest = (
  connection: Connection,
  idOrSlug: string,
  options?: CallOptions,
): Promise<AssetManifest> => connection.json('GET', `${at(idOrSlug)}/manifest`, { origin: 'studio', ...options })

/** Where a file is, to be linked to: `loader.load(client.assetUrl('ship'))`. */
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
 * Returns the address of the asset with an animation clip, as a GLB: with one of the presets (`idle`, `walk`, `run` …),
 * or, with `from`, with a clip of that asset which `animateAsset` has added to it.
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

/** A preset, or a clip of another asset by its name there. */
export type ClipChoice = { preset: string } | ClipOf
export interface ClipOf {
  /** The id or slug of an asset with clips. */
  from: string
  clip: string
}

/** Gives a rigged model of yours a clip; the answer says where it is. Needs `assets:write`. */
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

/** Takes a clip of another asset off a model of yours. Needs `assets:write`. */
export const removeAssetClip = (
  connection: Connection,
  idOrSlug: string,
  { from, clip }: ClipOf,
  options?: CallOptions,
): Promise<void> =>
  connection.json('DELETE', `${at(idOrSlug)}/animations`, { query: { from, clip }, origin: 'studio', ...options })

/** The file itself; its body streams. The header `x-service-variant` says which variant came. */
export const getAssetFile = (
  connection: Connection,
  idOrSlug: string,
  { signal, ...choice }: CallOptions & FileChoice = {},
): Promise<Response> =>
  connection.send('GET', `${at(idOrSlug)}/file`, {
    query: choice as Record<string, string>,
    headers: { accept: '*/*' },
    signal,
    origin: 'studio',
  })

export interface NewAsset {
  file: Blob
  /** With its ending: `ship.glb`. */
  fileName: string
  title: string
  description?: string | undefined
  visibility?: 'public' | 'private' | undefined
  /** An SPDX expression. */
  license?: string | undefined
  tags?: string[] | undefined
}

/** Uploads an asset. Needs `assets:write`. */
export function uploadAsset(connection: Connection, asset: NewAsset, options?: CallOptions): Promise<Asset> {
  const { file, fileName, tags, ...fields } = asset
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) form.append(name, value)
  if (tags) form.append('tags', tags.join(' '))
  // Last, so that the fields are known when its bytes arrive.
  form.append('file', file, fileName)
  return connection.json('POST', '/api/assets', { body: form, origin: 'studio', timeoutMs: 600_000, ...options })
}

/** Takes an asset away. Needs `assets:write`. */
export const deleteAsset = (connection: Connection, idOrSlug: string, options?: CallOptions): Promise<void> =>
  connection.json('DELETE', at(idOrSlug), { origin: 'studio', ...options })
