import { createHash } from 'node:crypto'
import { paddingOf, TAR_END_BYTES, tarHeader } from '../../../clients/sdk/tar.ts'
import type { Answer, Client, Platform } from '../../kit/platform.ts'

/** A build: contents by path. */
export type Build = Record<string, string | Buffer>

export const sha256 = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex')

/** Returns the files of a build as a deploy announces them. */
export const filesOf = (build: Build) =>
  Object.entries(build).map(([path, bytes]) => ({ path, size: Buffer.byteLength(bytes), sha256: sha256(bytes) }))

/** Returns the bytes that the manifest of a small build takes; those of a large one are fewer. */
export const manifestBytes = (build: Build): number =>
  Buffer.byteLength(JSON.stringify(filesOf(build).map(({ path, sha256, size }) => [path, sha256, size])))

/** Returns a small build in which every file contains the stamp. */
export const build = (stamp: string, files = 3): Build => ({
  'index.html': `<title>${stamp}</title>`,
  ...Object.fromEntries(Array.from({ length: files - 1 }, (_, index) => [`js/${index}.js`, `"${stamp}/${index}"`])),
})

/** Returns a tar archive of the contents of a build, each named by its digest. */
export function tarOf(build: Build): Buffer {
  const contents = new Map(Object.values(build).map((bytes) => [sha256(bytes), Buffer.from(bytes)]))
  const entries = Array.from(contents, ([name, bytes]) => tarEntry(name, bytes))
  return Buffer.concat([...entries, Buffer.alloc(TAR_END_BYTES)])
}

/** Returns one file of an archive. */
export const tarEntry = (name: string, bytes: Buffer): Buffer =>
  Buffer.concat([tarHeader(name, bytes.length), bytes, Buffer.alloc(paddingOf(bytes.length))])

export interface Upload {
  path: string
  uploadUrl: string
  method: 'PUT'
  headers: Record<string, string>
}

/** Uploads one file to the URL from the start of a deploy, as a client without a token. */
export function upload(platform: Platform, { path, uploadUrl, headers }: Upload, files: Build): Promise<Answer> {
  const { pathname, search } = new URL(uploadUrl)
  return platform.stranger.put(pathname + search, Buffer.from(files[path] as string), { headers })
}

/** Deploys a build completely. @throws when a step is refused */
export async function deploy(
  platform: Platform,
  program: Client,
  gameId: string,
  files: Build,
  message?: string,
  room?: string,
) {
  const further = { ...(message ? { message } : {}), ...(room ? { room } : {}) }
  const started = await program.post('/api/deploy', { gameId, files: filesOf(files), ...further })
  if (started.status !== 200) throw new Error(started.text)
  for (const wanted of started.body.uploads as Upload[]) {
    const { status, text } = await upload(platform, wanted, files)
    if (status !== 204) throw new Error(text)
  }
  const finalized = await program.post(`/api/deploy/${started.body.deployId}/finalize`)
  if (finalized.status !== 200) throw new Error(finalized.text)
  return { deployId: started.body.deployId as string, started, finalized }
}

/** Returns the live deploy of a game from the storage: text by path. */
export async function liveBuild(platform: Platform, gameId: string): Promise<Record<string, string>> {
  const { app } = platform
  const { liveDeployId } = await app.games.get(gameId)
  const manifest = liveDeployId ? await app.deploys.manifest(liveDeployId) : null
  const files: Record<string, string> = {}
  for (const [path, { sha256: digest }] of manifest ?? []) {
    const chunks = await (await app.storage.get(app.deploys.blobKey(digest))).toArray()
    files[path] = Buffer.concat(chunks).toString()
  }
  return files
}
