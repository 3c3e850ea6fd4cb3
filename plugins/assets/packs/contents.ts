import { createReadStream } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { printablePath } from '../../../core/data/file-path.ts'
import type { Spool } from '../../../core/data/spool.ts'
import { Archive, type ArchivedFile } from '../../../core/data/zip/zip-archive.ts'
import { InvalidRequest, PayloadTooLarge } from '../../../core/errors.ts'
import { formatBytes } from '../../../core/format-bytes.ts'
import { InvalidModel } from '../errors.ts'
import type { Limits } from '../limits.ts'
import type { Models } from '../models/models.ts'
import { blobKey, type StoredFile } from '../record.ts'
import { GLB, HEAD_BYTES, isGltf, sniff, typeInPack } from '../upload/file-type.ts'
import { digestFile, headOf } from '../upload/local-file.ts'

/** The number of entries for each file that a pack may have. Folders and junk files count as entries too. */
const ENTRIES_PER_FILE = 4
/** Files that operating systems add to archives. */
const JUNK = /(?:^|\/)(?:__MACOSX\/|\._[^/]*$|\.DS_Store$|Icon\r$|Thumbs\.db$|desktop\.ini$)/

interface Parts extends Pick<FastifyInstance, 'storage'> {
  models: Models
  limits: Limits
  spool: Spool
}

/** The files of a pack in the order of their paths, and the totals of its models. */
export interface PackContents {
  files: StoredFile[]
  triangles: number | null
}

/** Paths on this machine's disk, by the path in the archive, in the order of these. */
export type Unpacked = ReadonlyMap<string, string>

/**
 * Unpacks an archive for the duration of the work.
 *
 * @throws InvalidRequest, PayloadTooLarge
 */
export async function withUnpacked<Result>(
  { spool, limits }: Parts,
  path: string,
  work: (files: Unpacked) => Promise<Result>,
): Promise<Result> {
  const archive = await Archive.open(path)
  const files = new Map<string, string>()
  try {
    for (const file of await filesOf(archive, limits)) files.set(file.path, await spool.take(archive.read(file)))
    return await work(files)
  } finally {
    archive.close()
    for (const local of files.values()) await spool.remove(local)
  }
}

/** The most repairs that are described. */
const MOST_REPAIRS = 200

/**
 * Repairs the models of an archive where it is unpacked. One that can't be read is left to the check that follows.
 *
 * @returns what was done, in a sentence each
 */
export async function repairPack(
  { models }: Pick<Parts, 'models'>,
  { owner }: { owner: string },
  files: Unpacked,
): Promise<string[]> {
  const repairs: string[] = []
  for (const [path, local] of files) {
    if (!isGltf(path) && sniff(await headOf(local, HEAD_BYTES)) !== GLB) continue
    const task = { task: 'repair', path: local, out: local, beside: { path, files } } as const
    const done = await models.run(task, { owner }).catch((error: unknown) => {
      if (error instanceof InvalidModel) return []
      throw error
    })
    repairs.push(...done.map((sentence) => `${printablePath(path)}: ${sentence}`))
  }
  const more = repairs.length - MOST_REPAIRS
  return more > 0 ? [...repairs.slice(0, MOST_REPAIRS), `${more} more were made.`] : repairs
}

/** Returns the path of the only model of an archive if that is a `.gltf`, else null. */
export async function soleGltf(files: Unpacked): Promise<string | null> {
  const models: string[] = []
  for (const [path, local] of files) {
    if (isGltf(path) || sniff(await headOf(local, HEAD_BYTES)) === GLB) models.push(path)
  }
  const [sole] = models
  return sole !== undefined && models.length === 1 && isGltf(sole) ? sole : null
}

/**
 * Stores the files of a pack. Each is checked as if it had been uploaded alone, but may refer to the others.
 *
 * @param owner the player who waits for it
 * @throws InvalidRequest, InvalidModel, StorageFull; some files may have been stored by then
 */
export async function storePack(
  parts: Parts,
  { assetId, owner }: { assetId: string; owner: string },
  unpacked: Unpacked,
): Promise<PackContents> {
  const files: StoredFile[] = []
  const stored = new Set<string>()
  let triangles: number | null = null
  for (const path of unpacked.keys()) {
    const taken = await take(parts, { assetId, owner, path, unpacked, stored })
    files.push(taken.file)
    if (taken.triangles !== null) triangles = (triangles ?? 0) + taken.triangles
  }
  return { files, triangles }
}

async function filesOf(archive: Archive, limits: Limits): Promise<ArchivedFile[]> {
  const isJunkFile = (path: string) => JUNK.test(path)
  const all = await archive.files({ most: limits.assetPackFiles * ENTRIES_PER_FILE, isJunkFile })
  const meant = all.filter(({ path }) => !isJunkFile(path))
  if (meant.length === 0) throw new InvalidRequest('The archive has no files.')
  if (meant.length > limits.assetPackFiles) {
    throw new PayloadTooLarge(`A pack has at most ${limits.assetPackFiles} files, not ${meant.length}.`)
  }
  for (const { path, size } of meant) {
    if (size > limits.assetBytes) {
      throw new PayloadTooLarge(
        `${printablePath(path)} is larger than ${formatBytes(limits.assetBytes)}, the most that a file may have.`,
      )
    }
  }
  archive.checkTotal(meant, { what: 'a pack', mostBytes: limits.assetPackBytes })
  const root = rootOf(meant.map(({ path }) => path))
  return meant
    .map((file) => ({ ...file, path: file.path.slice(root.length) }))
    .sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** Returns the single top folder of all files, since users often zip the folder and not its contents. */
function rootOf(paths: readonly string[]): string {
  const first = paths[0] as string
  const root = first.slice(0, first.indexOf('/') + 1)
  return root !== '' && paths.every((path) => path.startsWith(root)) ? root : ''
}

async function take(
  { storage, models }: Parts,
  {
    assetId,
    owner,
    path,
    unpacked,
    stored,
  }: { assetId: string; owner: string; path: string; unpacked: Unpacked; stored: Set<string> },
): Promise<{ file: StoredFile; triangles: number | null }> {
  const local = unpacked.get(path) as string
  const head = await headOf(local, HEAD_BYTES)
  const isModel = isGltf(path) || sniff(head) === GLB
  const facts = isModel ? await inspect(models, owner, { path, unpacked }) : null
  const digest = await digestFile(local)
  if (!stored.has(digest.sha256)) {
    const body = createReadStream(local)
    await storage.put(blobKey(assetId, digest.sha256), body, digest).finally(() => body.destroy())
    stored.add(digest.sha256)
  }
  const uses = facts && facts.uses.length > 0 ? { uses: facts.uses } : {}
  const file = { path, contentType: typeInPack(path, head), ...digest, ...uses }
  return { file, triangles: facts?.triangles ?? null }
}

async function inspect(models: Models, owner: string, { path, unpacked }: { path: string; unpacked: Unpacked }) {
  try {
    const task = { task: 'inspect', path: unpacked.get(path) as string, beside: { path, files: unpacked } } as const
    return await models.run(task, { owner })
  } catch (error) {
    if (!(error instanceof InvalidModel)) throw error
    const reason = error.message.replace(/^This is/, `${printablePath(path)} is`)
    throw new InvalidRequest(reason).with({ details: error.details ?? [] })
  }
}
