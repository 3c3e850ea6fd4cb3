import type { FastifyInstance } from 'fastify'
import { Archive, type ArchivedFile } from '../../../core/data/zip-archive.ts'
import { InvalidRequest, isPlatformError } from '../../../core/errors.ts'
import { forEach } from '../concurrency.ts'
import type { DeployLimits } from '../schemas.ts'
import { contentsOf } from './contents.ts'

/** The number of files that are unpacked concurrently. */
const CONCURRENCY = 4

/** The result of publishing an archive. */
export interface Published {
  deployId: string
  /** The number of unpublished files: secrets, histories, junk files, and paths in `.gameyardignore`. */
  skipped: number
}

/**
 * Deploys a zip archive: hashes every file, then unpacks those that are missing.
 *
 * @param file path of the archive on disk, which stays the caller's
 * @throws InvalidRequest, PayloadTooLarge saying what is wrong with it, in words for people
 */
export async function publishArchive(
  { deploys }: Pick<FastifyInstance, 'deploys'>,
  limits: DeployLimits,
  { playerId, gameId, file, message }: { playerId: string; gameId: string; file: string; message: string },
): Promise<Published> {
  const archive = await Archive.open(file)
  try {
    const { files, skipped } = await contentsOf(archive, limits)
    if (!files.some(({ path }) => path === 'index.html')) {
      throw new InvalidRequest('There is no index.html at the root of the archive.')
    }
    const byDigest = new Map<string, ArchivedFile>()
    const announced = []
    for (const archived of files) {
      const sha256 = await archive.digest(archived)
      byDigest.set(sha256, archived)
      announced.push({ path: archived.path, size: archived.size, sha256 })
    }
    const { deployId, wanted } = await deploys.begin(playerId, {
      gameId,
      files: announced,
      ...(message ? { message } : {}),
    })
    try {
      await forEach(CONCURRENCY, wanted, async ({ sha256, size }) => {
        const body = archive.read(byDigest.get(sha256) as ArchivedFile)
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
    return { deployId, skipped }
  } finally {
    archive.close()
  }
}
