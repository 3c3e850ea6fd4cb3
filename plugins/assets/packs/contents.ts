import { createReadStream } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { printablePath } from '../../../core/data/file-path.ts'
import type { Spool } from '../../../core/data/spool.ts'
import { Archive, type ArchivedFile } from '../../../core/data/zip/zip-archive.ts'
import { InvalidRequest, PayloadTooLarge } from '../../../core/errors.ts'
import { InvalidModel } from '../errors.ts'
import type { Limits } from '../limits.ts'
import type { Models } from '../models/models.ts'
import { blobKey, type StoredFile } from '../record.ts'
import { GLB, HEAD_BYTES, sniff, typeInPack } from '../upload/file-type.ts'
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

/**
 * Unpacks an archive, file by file. Each file is checked as if it had been uploaded alone, and stored.
 *
 * @param owner the player who waits for it
 * @throws InvalidRequest, InvalidModel, PayloadTooLarge, StorageFull; some files may have been stored by then
 */
export async function unpack(
  parts: Parts,
  { assetId, owner }: { assetId: string; owner: string },
  path: string,
): Promise<PackContents> {
  const archive = await Archive.open(path)
  try {
    const files: StoredFile[] = []
    const stored = new Set<string>()
    let triangles: number | null = null
    for (const file of await filesOf(archive, parts.limits)) {
      const taken = await take(parts, { assetId, owner, archive, file, stored })
      files.push(taken.file)
      if (taken.triangles !== null) triangles = (triangles ?? 0) + taken.triangles
    }
    return { files, triangles }
  } finally {
    archive.close()
  }
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
      throw new PayloadTooLarge(`${printablePath(path)} has ${size} bytes; a file has at most ${limits.assetBytes}.`)
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
  { storage, models, spool }: Parts,
  {
    assetId,
    owner,
    archive,
    file,
    stored,
  }: { assetId: string; owner: string; archive: Archive; file: ArchivedFile; stored: Set<string> },
): Promise<{ file: StoredFile; triangles: number | null }> {
  const path = await spool.take(archive.read(file))
  try {
    const head = await headOf(path, HEAD_BYTES)
    const isModel = sniff(head) === GLB
    const facts = isModel ? await inspect(models, owner, { local: path, path: file.path }) : null
    const digest = await digestFile(path)
    if (!stored.has(digest.sha256)) {
      const body = createReadStream(path)
      await storage.put(blobKey(assetId, digest.sha256), body, digest).finally(() => body.destroy())
      stored.add(digest.sha256)
    }
    const contentType = typeInPack(file.path, head)
    return { file: { path: file.path, contentType, ...digest }, triangles: facts?.triangles ?? null }
  } finally {
    await spool.remove(path)
  }
}

async function inspect(models: Models, owner: string, { local, path }: { local: string; path: string }) {
  try {
    return await models.run({ task: 'inspect', path: local }, { owner })
  } catch (error) {
    if (!(error instanceof InvalidModel)) throw error
    const reason = error.message.replace(/^This is/, `${printablePath(path)} is`)
    throw new InvalidRequest(reason).with({ details: error.details ?? [] })
  }
}
