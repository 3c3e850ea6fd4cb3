import type { BundleAddress } from './bundles.ts'
import type { CallOptions, Connection } from './connection.ts'
import { GameyardError } from './errors.ts'
import { type List, list } from './lists.ts'
import type { Answer } from './types.ts'
import type { UploadProgress } from './upload.ts'

export type Deploy = Answer<'/api/deploy/{deployId}', 'get'>
export type PublishedDeploy = Answer<'/api/deploy/{deployId}/finalize', 'post'> & { deployId: string; uploaded: number }

/** A build may have many files, and some storages are read to verify them. */
const BEGIN_TIMEOUT_MS = 120_000
const FINALIZE_TIMEOUT_MS = 300_000

export interface BuildFile {
  /** The path relative to the root of the build, with `/`: `assets/ship.glb`. */
  path: string
  content: string | Uint8Array | Blob
}

export interface PublishOptions extends CallOptions {
  gameId: string
  files: BuildFile[]
  message?: string | undefined
  /** The path of the room script among the files. It is never served. */
  room?: string | undefined
  /** Ends the live rooms, so that new ones begin with this script. */
  restartRooms?: boolean | undefined
  /** Publishes files although they hold a secret that works on the platform. Default: `live_secret` is thrown. */
  allowSecrets?: boolean | undefined
  /** The number of parallel uploads of files of 1 MB and more; smaller ones are sent together. Default: 6 */
  parallel?: number | undefined
  onProgress?: ((progress: UploadProgress) => void) | undefined
}

/**
 * Publishes a build: announces its files, uploads those that the platform does not have yet, and puts the build live
 * atomically. Players see the old build or the new one, never a mixture. Needs `deployments:write`.
 */
export async function publish(connection: Connection, options: PublishOptions): Promise<PublishedDeploy> {
  const { gameId, message, room, restartRooms, allowSecrets, signal, parallel = 6, onProgress } = options
  const contents = new Map<string, Blob>()
  const files: { path: string; size: number; sha256: string }[] = []
  for (const { path, content } of options.files) {
    const blob = content instanceof Blob ? content : new Blob([content as BlobPart])
    contents.set(path, blob)
    files.push({ path, size: blob.size, sha256: await sha256(blob) })
  }
  const begun = await connection.json<Answer<'/api/deploy', 'post'>>('POST', '/api/deploy', {
    body: { gameId, files, ...(message === undefined ? {} : { message }), ...(room === undefined ? {} : { room }) },
    idempotent: true,
    timeoutMs: BEGIN_TIMEOUT_MS,
    signal,
  })
  const digests = new Map(files.map((file) => [file.path, file.sha256]))
  const wanted = begun.uploads.map((upload) => ({
    ...upload,
    sha256: digests.get(upload.path) as string,
    blob: contents.get(upload.path) as Blob,
  }))
  // Games load the SDK too, and most do not publish.
  const { uploadFiles } = await import('./upload.ts')
  await uploadFiles(connection, begun.bundle as BundleAddress | undefined, wanted, { signal, parallel, onProgress })
  const { deployId } = begun
  const live = await finalizeDeploy(connection, deployId, { restartRooms, allowSecrets, signal })
  return { ...live, deployId, uploaded: begun.uploads.length }
}

/** Puts an uploaded build live. */
export const finalizeDeploy = (
  connection: Connection,
  deployId: string,
  {
    restartRooms,
    allowSecrets,
    ...options
  }: CallOptions & { restartRooms?: boolean | undefined; allowSecrets?: boolean | undefined } = {},
): Promise<Answer<'/api/deploy/{deployId}/finalize', 'post'>> =>
  // A second request returns the same response, so it is repeatable.
  connection.json('POST', `/api/deploy/${encodeURIComponent(deployId)}/finalize`, {
    query: { restartRooms, allowSecrets },
    repeatable: true,
    timeoutMs: FINALIZE_TIMEOUT_MS,
    ...options,
  })

/** Fetches a deploy. Needs `deployments:write`. */
export const getDeploy = (connection: Connection, deployId: string, options?: CallOptions): Promise<Deploy> =>
  connection.json('GET', `/api/deploy/${encodeURIComponent(deployId)}`, options)

/** Lists the deploys of a game, newest first. */
export const listDeploys = (
  connection: Connection,
  gameId: string,
  { signal, limit }: CallOptions & { limit?: number } = {},
): List<Answer<'/api/games/{id}/deploys', 'get'>['deploys'][number]> =>
  list(connection, `/api/games/${encodeURIComponent(gameId)}/deploys`, 'deploys', { query: { limit }, signal })

/** Puts an earlier build live again. Needs `deployments:write`. */
export const rollback = (
  connection: Connection,
  deployId: string,
  { restartRooms, ...options }: CallOptions & { restartRooms?: boolean | undefined } = {},
): Promise<Answer<'/api/deploy/{deployId}/rollback', 'post'>> =>
  connection.json('POST', `/api/deploy/${encodeURIComponent(deployId)}/rollback`, {
    query: { restartRooms },
    timeoutMs: FINALIZE_TIMEOUT_MS,
    ...options,
  })

/** Returns a digest in hexadecimal. Node 18 has Web Crypto only in a module; plain-http pages have none. */
async function sha256(blob: Blob): Promise<string> {
  const name = 'node:crypto'
  const { subtle } = globalThis.crypto ?? ((await import(/* @vite-ignore */ name)).webcrypto as Crypto)
  if (!subtle) throw new GameyardError('insecure_context', 'Publishing needs https, or localhost.')
  const digest = new Uint8Array(await subtle.digest('SHA-256', await blob.arrayBuffer()))
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
