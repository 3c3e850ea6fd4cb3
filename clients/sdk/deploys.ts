import type { CallOptions, Connection } from './connection.ts'
import { GameyardError } from './errors.ts'
import { type List, list } from './lists.ts'
import type { Answer } from './types.ts'

export type Deploy = Answer<'/api/deploy/{deployId}', 'get'>
export type PublishedDeploy = Answer<'/api/deploy/{deployId}/finalize', 'post'> & { deployId: string; uploaded: number }

export interface BuildFile {
  /** The path relative to the root of the build, with `/`: `assets/ship.glb`. */
  path: string
  content: string | Uint8Array | Blob
}

export interface PublishOptions extends CallOptions {
  gameId: string
  files: BuildFile[]
  message?: string | undefined
  /** The number of parallel uploads. Default: 6 */
  parallel?: number | undefined
  onProgress?:
    | ((progress: { files: number; uploadedFiles: number; bytes: number; uploadedBytes: number }) => void)
    | undefined
}

/**
 * Publishes a build: announces its files, uploads those that the platform does not have yet, and puts the build live
 * atomically. Players see the old build or the new one, never a mixture. Needs `deployments:write`.
 */
export async function publish(connection: Connection, options: PublishOptions): Promise<PublishedDeploy> {
  const { gameId, message, signal, parallel = 6, onProgress } = options
  const contents = new Map<string, Blob>()
  const files: { path: string; size: number; sha256: string }[] = []
  for (const { path, content } of options.files) {
    const blob = content instanceof Blob ? content : new Blob([content as BlobPart])
    contents.set(path, blob)
    files.push({ path, size: blob.size, sha256: await sha256(blob) })
  }
  const begun = await connection.json<Answer<'/api/deploy', 'post'>>('POST', '/api/deploy', {
    body: { gameId, files, ...(message === undefined ? {} : { message }) },
    idempotent: true,
    signal,
  })
  const bytes = begun.uploads.reduce((sum, { path }) => sum + (contents.get(path)?.size ?? 0), 0)
  const progress = { files: begun.uploads.length, uploadedFiles: 0, bytes, uploadedBytes: 0 }
  onProgress?.({ ...progress })
  const waiting = [...begun.uploads]
  const upload = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { path, uploadUrl, headers } = next
      const blob = contents.get(path) as Blob
      await put(connection, uploadUrl, blob, headers as Record<string, string>, signal)
      progress.uploadedFiles++
      progress.uploadedBytes += blob.size
      onProgress?.({ ...progress })
    }
  }
  await Promise.all(Array.from({ length: Math.min(parallel, waiting.length) }, upload))
  const { deployId } = begun
  const live = await finalizeDeploy(connection, deployId, { signal })
  return { ...live, deployId, uploaded: begun.uploads.length }
}

/** Uploads to a presigned URL. It may belong to another service, so the request carries no token. */
async function put(
  connection: Connection,
  url: string,
  body: Blob,
  headers: Record<string, string>,
  signal: AbortSignal | undefined,
): Promise<void> {
  await connection.send('PUT', url, { body, headers, signal, anonymous: true, timeoutMs: 600_000 })
}

/** Puts an uploaded build live. */
export const finalizeDeploy = (
  connection: Connection,
  deployId: string,
  options?: CallOptions,
): Promise<Answer<'/api/deploy/{deployId}/finalize', 'post'>> =>
  // A second request returns the same response, so it is repeatable.
  connection.json('POST', `/api/deploy/${encodeURIComponent(deployId)}/finalize`, { repeatable: true, ...options })

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
  options?: CallOptions,
): Promise<Answer<'/api/deploy/{deployId}/rollback', 'post'>> =>
  connection.json('POST', `/api/deploy/${encodeURIComponent(deployId)}/rollback`, options)

/** Returns a digest in hexadecimal. Node 18 has Web Crypto only in a module; plain-http pages have none. */
async function sha256(blob: Blob): Promise<string> {
  const name = 'node:crypto'
  const { subtle } = globalThis.crypto ?? ((await import(/* @vite-ignore */ name)).webcrypto as Crypto)
  if (!subtle) throw new GameyardError('insecure_context', 'Publishing needs https, or localhost: files are hashed.')
  const digest = new Uint8Array(await subtle.digest('SHA-256', await blob.arrayBuffer()))
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
