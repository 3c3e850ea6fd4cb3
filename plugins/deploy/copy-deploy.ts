import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { NotFound } from '../../core/errors.ts'
import { chunksOf, reserve } from './blobs/blobs.ts'
import { DeployRow, DeployUpload, ManifestRow } from './entities.ts'
import { blobsOf, bytesOfStored } from './manifest/stored-manifest.ts'
import { mustHaveFewOpen } from './open-deploys.ts'
import { STORED_KIND } from './stored-bytes.ts'

/** The time for which a copy may be finalized. */
const OPEN_MS = 60 * 60 * 1000

/** A copy of a deploy, for a game of another player. */
export interface DeployCopy {
  /** The deploy whose files are taken. */
  from: string
  /** The game that gets them. */
  gameId: string
  ownerId: string
  message: string
}

/**
 * Begins a deploy with the files of another one, which all count as uploaded. Both deploys share the stored bytes.
 *
 * @param deployId of the deploy, which still has to be finalized
 * @throws NotFound when the other deploy was removed meanwhile, or was never finalized
 * @throws QuotaExceeded when its files are more than the owner may store; TooManyOpenDeploys
 * @throws BlobBusy
 */
export async function copyDeploy(
  { db, clock, quotas }: Pick<FastifyInstance, 'db' | 'clock' | 'quotas'>,
  deployId: string,
  { from, gameId, ownerId, message, openDeploysPerPlayer }: DeployCopy & { openDeploysPerPlayer: number },
): Promise<void> {
  const createdAt = clock.now()
  await db.transaction(async (em) => {
    const manifest = await em.findOne(ManifestRow, { deployId: from })
    if (!manifest) throw new NotFound('deploy')
    const blobs = await blobsOf(manifest.files)
    const digests = blobs.map(({ sha256 }) => sha256).sort()
    await reserve(em, digests, createdAt)
    // The deploy is read after its blobs are reserved: while it exists, none of them has been removed.
    const source = await em.findOne(DeployRow, { id: from, state: { $in: ['live', 'superseded'] } })
    if (!source) throw new NotFound('deploy')
    await quotas.add(em, ownerId, { kind: STORED_KIND, bytes: bytesOfStored(manifest.files), blobs })
    await mustHaveFewOpen(em, ownerId, openDeploysPerPlayer)
    await em.insert(ManifestRow, { deployId, files: manifest.files })
    await em.insert(DeployRow, {
      id: deployId,
      gameId,
      ownerId,
      playerId: ownerId,
      state: 'uploading',
      message,
      failure: null,
      fileCount: source.fileCount,
      unchangedCount: source.fileCount,
      totalBytes: source.totalBytes,
      createdAt,
      expiresAt: new Date(createdAt.getTime() + OPEN_MS),
      liveAt: null,
      pinned: false,
      roomPath: source.roomPath ?? null,
    })
    for (const chunk of chunksOf(digests)) {
      await nextTurn()
      await em.insertMany(
        DeployUpload,
        [...new Set(chunk)].map((sha256) => ({ deployId, sha256 })),
      )
    }
  })
}
