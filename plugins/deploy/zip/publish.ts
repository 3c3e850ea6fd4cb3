import { createHash, hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { Archive, type ArchivedFile } from '../../../core/data/zip/zip-archive.ts'
import { DigestMismatch } from '../../../drivers/storage/interface.ts'
import { forEach } from '../concurrency.ts'
import { START_PAGE } from '../manifest/start-page.ts'
import type { DeployLimits } from '../schemas.ts'
import { BatchWriter } from '../uploads/batch-writer.ts'
import { contentsOf, startPageNote } from './contents.ts'
import type { IgnoreRules } from './ignore-rules.ts'

/** The number of large files that are unpacked concurrently. */
const CONCURRENCY = 4
/** The most bytes of small files that are kept in memory between the announcement and the upload. */
const KEPT_BYTES = 16 * 1024 ** 2

/** The result of publishing an archive. */
export interface Published {
  deployId: string
  /** The number of unpublished files: secrets, histories, junk files, and paths in `.gameyardignore`. */
  skipped: number
  /** The only folder of the archive, whose content was published; empty when the archive has the files themselves. */
  folder: string
  /** The deploy that went live after this one had begun. */
  replaced: string | undefined
}

interface ArchiveToPublish {
  playerId: string
  gameId: string
  /** The path of the archive on disk, which stays the caller's. */
  file: string
  message: string
  /**
   * The path of the room script in the archive. Default: the one that its `gameyard.json` names, or that of the live
   * build, while its file is there.
   */
  room?: string
}

/**
 * Deploys a zip archive: hashes every file, then unpacks those that are missing.
 *
 * @throws InvalidRequest, PayloadTooLarge saying what is wrong with it, in words for people
 */
export async function publishArchive(
  { deploys, ignoreRules }: Pick<FastifyInstance, 'deploys'> & { ignoreRules: IgnoreRules },
  limits: DeployLimits,
  { playerId, gameId, file, message, room: chosen }: ArchiveToPublish,
): Promise<Published> {
  const archive = await Archive.open(file)
  try {
    const { files, skipped, folder, room: named, notes } = await contentsOf(archive, limits, ignoreRules)
    const contents = await digestAll(archive, files)
    const announced = files.map(({ path, size }) => ({ path, size, sha256: contents.digests.get(path) as string }))
    const room = chosen ?? named ?? (await liveRoom(deploys, gameId, files))
    const announcement = {
      gameId,
      files: announced,
      ...(message ? { message } : {}),
      ...(room ? { room } : {}),
    }
    // The archive is deleted with this request.
    return await deploys.unresumable.run(async (deployId) => {
      const { wanted } = await deploys.begin(playerId, announcement, deployId)
      await storeAll(deploys, deployId, archive, contents, wanted)
      const { replaced } = await deploys.finalize(playerId, deployId, { notes })
      return { deployId, skipped, folder, replaced: replaced?.deployId }
    })
  } finally {
    archive.close()
  }
}

/**
 * Deploys a single HTML file, such as the export of a story or of a small game, as the start page.
 *
 * @param name of the file at its maker's
 * @throws PayloadTooLarge
 */
export async function publishPage(
  { deploys }: Pick<FastifyInstance, 'deploys'>,
  { playerId, gameId, file, message }: ArchiveToPublish,
  name: string,
): Promise<Published> {
  const digest = createHash('sha256')
  let size = 0
  for await (const chunk of createReadStream(file)) {
    digest.update(chunk)
    size += chunk.length
  }
  const page = { path: START_PAGE, size, sha256: digest.digest('hex') }
  const announcement = { gameId, files: [page], ...(message ? { message } : {}) }
  return deploys.unresumable.run(async (deployId) => {
    const { wanted } = await deploys.begin(playerId, announcement, deployId)
    if (wanted.length > 0) await deploys.uploads.store(deployId, page, createReadStream(file))
    const notes = startPageNote(name === START_PAGE ? null : name)
    const { replaced } = await deploys.finalize(playerId, deployId, { notes })
    return { deployId, skipped: 0, folder: '', replaced: replaced?.deployId }
  })
}

/** The contents of an archive. */
interface Contents {
  /** By path. */
  digests: Map<string, string>
  /** One file of each digest, in the order in which the archive holds them. */
  files: Map<string, ArchivedFile>
  /** The bytes of small files by digest, up to a limit for all. The others are unpacked again when they are stored. */
  kept: Map<string, Buffer>
}

async function digestAll(archive: Archive, files: readonly ArchivedFile[]): Promise<Contents> {
  const contents: Contents = { digests: new Map(), files: new Map(), kept: new Map() }
  let left = KEPT_BYTES
  const offsetOf = ({ entry }: ArchivedFile) => entry.relativeOffsetOfLocalHeader
  for (const file of files.toSorted((a, b) => offsetOf(a) - offsetOf(b))) {
    const bytes = archive.isSmall(file) ? await archive.readSmall(file) : null
    const sha256 = bytes ? hash('sha256', bytes) : await archive.digest(file)
    contents.digests.set(file.path, sha256)
    if (contents.files.has(sha256)) continue
    contents.files.set(sha256, file)
    if (!bytes || bytes.length > left) continue
    contents.kept.set(sha256, bytes)
    left -= bytes.length
  }
  return contents
}

/** Stores the files that are missing: small ones in batches, and large ones as they are unpacked. */
async function storeAll(
  { uploads }: FastifyInstance['deploys'],
  deployId: string,
  archive: Archive,
  { files, kept }: Contents,
  missing: readonly { sha256: string }[],
): Promise<void> {
  const wanted = new Set(missing.map(({ sha256 }) => sha256))
  const batches = new BatchWriter((batch) => uploads.storeAll(deployId, batch))
  const large: (ArchivedFile & { sha256: string })[] = []
  for (const [sha256, file] of files) {
    if (!wanted.has(sha256)) continue
    if (!archive.isSmall(file)) large.push({ ...file, sha256 })
    else {
      const bytes = kept.get(sha256) ?? (await archive.readSmall(file))
      if (!kept.delete(sha256) && hash('sha256', bytes) !== sha256) throw new DigestMismatch(file.path)
      await batches.add({ sha256, bytes })
    }
  }
  await batches.finish()
  await forEach(CONCURRENCY, large, async ({ sha256, ...file }) => {
    const body = archive.read(file)
    await uploads.store(deployId, { sha256, size: file.size }, body).finally(() => body.destroy())
  })
}

/** Returns the path of the live build's room script if the new build has a file there. */
async function liveRoom(
  { roomScripts }: Pick<FastifyInstance['deploys'], 'roomScripts'>,
  gameId: string,
  files: readonly ArchivedFile[],
): Promise<string | null> {
  const live = await roomScripts.load(gameId, { from: 'live' })
  return live && files.some(({ path }) => path === live.path) ? live.path : null
}
