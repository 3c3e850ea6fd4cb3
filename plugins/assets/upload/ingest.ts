import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { FastifyInstance } from 'fastify'
import type { Spool } from '../../../core/data/spool.ts'
import { zipSize } from '../../../core/data/zip/zip-layout.ts'
import { PayloadTooLarge } from '../../../core/errors.ts'
import { formatBytes } from '../../../core/format-bytes.ts'
import { AssetRefused } from '../errors.ts'
import type { Limits } from '../limits.ts'
import type { ModelFacts } from '../models/inspect.ts'
import type { Models } from '../models/models.ts'
import type { Surroundings } from '../models/references.ts'
import { type PackContents, repairPack, soleGltf, storePack, withUnpacked } from '../packs/contents.ts'
import { blobKey, type StoredFile } from '../record.ts'
import type { Kind } from '../schemas.ts'
import { describeUnknown, type FileType, GLB, HEAD_BYTES, isGltf, sniff } from './file-type.ts'
import { digestFile, headOf } from './local-file.ts'

/** The result of reading an upload: the columns of its row that come from its bytes. */
export interface IngestedFile {
  kind: Kind
  files: StoredFile[]
  size: number
  triangles: number | null
  rigged: boolean
  humanoid: boolean
  animations: string[]
}

/** The same, and what was repaired in the file. */
export interface Ingested {
  intake: IngestedFile
  repairs: string[]
}

/** A file on the local disk, and its name according to the sender. */
export interface LocalFile {
  path: string
  name: string
}

interface Parts extends Pick<FastifyInstance, 'storage'> {
  models: Models
  limits: Limits
  spool: Spool
}

interface Uploader {
  assetId: string
  /** The player who waits for it. */
  owner: string
  /** The kind that the uploader expects; absent for any. */
  kind?: Kind | undefined
  /** Whether small faults of models are repaired. */
  repairs?: boolean
}

/**
 * Inspects an uploaded file, and stores it under an asset's id. A `.gltf`, alone or as the only model of an archive,
 * becomes a glTF binary with everything in it, unless its uploader wants a pack.
 *
 * @throws AssetRefused, InvalidModel, PayloadTooLarge, StorageFull; some bytes may have been stored by then
 */
export async function ingest(parts: Parts, by: Uploader, file: LocalFile): Promise<Ingested> {
  const { models, spool } = parts
  const repairs: string[] = []
  const isModel = sniff(await headOf(file.path, HEAD_BYTES)) === GLB || isGltf(file.name)
  if (!by.repairs || !isModel) return { intake: await ingestUnchanged(parts, by, file, repairs), repairs }
  const out = spool.reserve()
  try {
    repairs.push(...(await models.run({ task: 'repair', path: file.path, out }, { owner: by.owner })))
    const repaired = repairs.length > 0 ? { ...file, path: out } : file
    return { intake: await ingestUnchanged(parts, by, repaired, repairs), repairs }
  } finally {
    await spool.remove(out)
  }
}

/** @param repairs receives what was repaired in the files of an archive */
async function ingestUnchanged(parts: Parts, by: Uploader, file: LocalFile, repairs: string[]): Promise<IngestedFile> {
  const { models, limits } = parts
  const { size: bytes } = await stat(file.path)
  const head = await headOf(file.path, HEAD_BYTES)
  const type = sniff(head)
  const most = type?.kind === 'zip' ? limits.assetPackBytes : limits.assetBytes
  if (bytes > most)
    throw new PayloadTooLarge(`${type?.kind === 'zip' ? 'A pack' : 'An asset'} has at most ${formatBytes(most)}.`)
  if (!type && isGltf(file.name)) return ingestGltf(parts, by, file)
  if (!type) throw new AssetRefused(describeUnknown(file.name, head))
  if (type.kind === 'zip') {
    return withUnpacked(parts, file.path, async (files) => {
      if (by.repairs) repairs.push(...(await repairPack(parts, by, files)))
      const path = by.kind === 'pack' ? null : await soleGltf(files)
      if (path === null) return packOf(await storePack(parts, by, files))
      return ingestGltf(parts, by, { path: files.get(path) as string, name: path }, { path, files })
    })
  }
  const facts =
    type.kind === 'model' ? await models.run({ task: 'inspect', path: file.path }, { owner: by.owner }) : null
  return ingestFile(parts, by, file, { type, facts })
}

const packOf = ({ files, triangles }: PackContents): IngestedFile => ({
  kind: 'pack',
  files,
  size: zipSize(files),
  triangles,
  rigged: false,
  humanoid: false,
  animations: [],
})

async function ingestGltf(
  parts: Parts,
  by: Uploader,
  { path, name }: LocalFile,
  beside?: Surroundings,
): Promise<IngestedFile> {
  const { models, spool, limits } = parts
  const out = spool.reserve()
  try {
    const task = { task: 'embed', path, out, ...(beside && { beside }) } as const
    const facts = await models.run(task, { owner: by.owner })
    if (facts.size > limits.assetBytes)
      throw new PayloadTooLarge(`An asset has at most ${formatBytes(limits.assetBytes)}.`)
    return await ingestFile(parts, by, { path: out, name }, { type: GLB, facts })
  } finally {
    await spool.remove(out)
  }
}

async function ingestFile(
  { storage }: Parts,
  { assetId }: Uploader,
  file: LocalFile,
  { type, facts }: { type: FileType; facts: ModelFacts | null },
): Promise<IngestedFile> {
  const digest = await digestFile(file.path)
  // The sender may still be writing the file, so this verifies that the stored bytes are the checked ones.
  if (facts && facts.sha256 !== digest.sha256) throw new AssetRefused('The file changed while it was read.')
  const body = createReadStream(file.path)
  try {
    await storage.put(blobKey(assetId, digest.sha256), body, digest)
  } finally {
    body.destroy()
  }
  const clipsOnly = facts !== null && facts.meshes === 0 && facts.animations.length > 0
  return {
    kind: clipsOnly ? 'animation' : (type.kind as Kind),
    files: [{ path: nameOf(file.name, type.extension), contentType: type.contentType, ...digest }],
    size: digest.size,
    triangles: facts?.triangles ?? null,
    rigged: facts?.rigged ?? false,
    humanoid: facts?.humanoid ?? false,
    animations: facts?.animations ?? [],
  }
}

/** Returns a file name without folders and special characters, with the extension of its detected type. */
function nameOf(name: string, extension: string): string {
  const last = name.split(/[\\/]/).at(-1) ?? ''
  const stem = last
    .normalize('NFC')
    .replace(/\.[^.]*$/, '')
    .replace(/[^\p{L}\p{N}._ -]+/gu, '-')
    .replace(/^[.\s-]+/, '')
    .slice(0, 100)
    .trim()
  return `${stem || 'asset'}.${extension}`
}
