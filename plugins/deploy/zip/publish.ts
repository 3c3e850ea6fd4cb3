import { hash } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import type { FastifyInstance } from 'fastify'
import { printablePath } from '../../../core/data/file-path.ts'
import { Archive, type ArchivedFile } from '../../../core/data/zip-archive.ts'
import { InvalidRequest, isPlatformError } from '../../../core/errors.ts'
import { DigestMismatch } from '../../../drivers/storage/interface.ts'
import { forEach } from '../concurrency.ts'
import type { DeployLimits } from '../schemas.ts'
import { BATCHED_FILE_BYTES, BatchWriter } from '../uploads/batch-writer.ts'
import { contentsOf } from './contents.ts'
import type { IgnoreRules } from './ignore-rules.ts'

/** The number of large files that are unpacked concurrently. */
const CONCURRENCY = 4

/** The result of publishing an archive. */
export interface Published {
  deployId: string
  /** The number of unpublished files: secrets, histories, junk files, and paths in `.gameyardignore`. */
  skipped: number
  /** The only folder of the archive, whose content was published; empty when the archive has the files themselves. */
  folder: string
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
    const { files, skipped, folder, room: named } = await contentsOf(archive, limits, ignoreRules)
    if (!files.some(({ path }) => path === 'index.html')) {
      const nested = files.find(({ path }) => path.endsWith('/index.html'))?.path
      const hint = nested ? ` There is a ${printablePath(nested)}: zip the folder that holds it.` : ''
      throw new InvalidRequest(`There is no index.html at the root of the archive.${hint}`)
    }
    const byDigest = new Map<string, ArchivedFile>()
    const announced = []
    for (const archived of files) {
      const sha256 = await archive.digest(archived)
      byDigest.set(sha256, archived)
      announced.push({ path: archived.path, size: archived.size, sha256 })
    }
    const room = chosen ?? named ?? (await liveRoom(deploys, gameId, files))
    const { deployId, wanted } = await deploys.begin(playerId, {
      gameId,
      files: announced,
      ...(message ? { message } : {}),
      ...(room ? { room } : {}),
    })
    try {
      const read = (sha256: string) => archive.read(byDigest.get(sha256) as ArchivedFile)
      const batches = new BatchWriter((batch) => deploys.uploads.storeAll(deployId, batch))
      for (const { sha256, size, path } of wanted) {
        if (size > BATCHED_FILE_BYTES) continue
        const bytes = await buffer(read(sha256))
        if (hash('sha256', bytes) !== sha256) throw new DigestMismatch(path)
        await batches.add({ sha256, bytes })
      }
      await batches.finish()
      const large = wanted.filter(({ size }) => size > BATCHED_FILE_BYTES)
      await forEach(CONCURRENCY, large, async ({ sha256, size }) => {
        const body = read(sha256)
        await deploys.uploads.store(deployId, { sha256, size }, body).finally(() => body.destroy())
      })
      await deploys.finalize(playerId, deployId)
    } catch (error) {
      // Nobody else can continue the deploy, because the archive is deleted with this request.
      await deploys
        .fail(deployId, isPlatformError(error) ? error.message : 'The server made a mistake.')
        .catch(() => {})
      throw error
    }
    return { deployId, skipped, folder }
  } finally {
    archive.close()
  }
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
