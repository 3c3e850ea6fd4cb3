import type { FastifyInstance } from 'fastify'
import { newId } from '../../core/ids.ts'
import { reserve } from './blobs/blobs.ts'
import { knownBlobs } from './blobs/known-blobs.ts'
import { DeployRow, ManifestRow } from './entities.ts'
import { bytesOfStored, packManifest } from './manifest/stored-manifest.ts'
import { mustHaveFewOpen } from './open-deploys.ts'
import type { NewDeploy, NewFile } from './schemas.ts'
import { STORED_KIND } from './stored-bytes.ts'

/** The time for which a deploy accepts uploads. */
const UPLOADS_END_MS = 24 * 60 * 60 * 1000

/**
 * A file counts at least this for the day of its announcement: the rows of its digest stay for a day, whatever becomes of
 * the deploy, and the smallest file takes a block of the disk.
 */
const SMALLEST_UPLOAD = 4096

/** A deploy that has begun. */
export interface BegunDeploy {
  deployId: string
  /** The files that have to be uploaded, one of each content. */
  wanted: NewFile[]
  expiresAt: Date
  /** The number of files that need not be uploaded again. */
  unchanged: number
}

interface NewRow {
  /** The owner of the game. */
  ownerId: string
  /** Who makes the deploy. */
  playerId: string
  gameId: string
  /** The deploy that is live meanwhile; null for none. */
  baseId: string | null
  deployId: string | undefined
  /** The number of deploys of one owner that take uploads. */
  openDeploysPerPlayer: number
}

/**
 * Begins a deploy of files that were checked: reserves their bytes, and counts them and the manifest for the owner.
 *
 * @throws QuotaExceeded, TooManyOpenDeploys: nothing is changed
 * @throws BlobBusy
 */
export async function beginDeploy(
  { db, clock, quotas }: Pick<FastifyInstance, 'db' | 'clock' | 'quotas'>,
  { ownerId, playerId, gameId, baseId, deployId, openDeploysPerPlayer }: NewRow,
  { files, message, room }: Pick<NewDeploy, 'files' | 'message' | 'room'>,
): Promise<BegunDeploy> {
  const createdAt = clock.now()
  const expiresAt = new Date(createdAt.getTime() + UPLOADS_END_MS)
  const id = deployId ?? newId('dep', createdAt)
  const wanted = new Map(files.map((file) => [file.sha256, file]))
  const digests = [...wanted.keys()].sort()
  const blobs = [...wanted.values()].map(({ sha256, size }) => ({ sha256, bytes: size }))
  const stored = await packManifest(files)
  const { owned, unchanged } = await db.transaction(async (em) => {
    await reserve(em, digests, createdAt)
    const owned = await knownBlobs((sql, values) => em.execute(sql, values), { playerId, gameId }, digests)
    const unchanged = files.filter((file) => owned.has(file.sha256)).length
    const fresh = blobs.filter(({ sha256 }) => !owned.has(sha256))
    const uploaded = fresh.reduce((sum, { bytes }) => sum + Math.max(bytes, SMALLEST_UPLOAD), 0)
    await quotas.add(
      em,
      ownerId,
      { kind: STORED_KIND, bytes: bytesOfStored(stored), blobs },
      { uploaded, uploaderId: playerId },
    )
    // The account is held now, so concurrent announcements of the player count each other.
    await mustHaveFewOpen(em, ownerId, openDeploysPerPlayer)
    await em.insert(ManifestRow, { deployId: id, files: stored })
    await em.insert(DeployRow, {
      id,
      gameId,
      ownerId,
      playerId,
      state: 'uploading',
      message: message?.trim() || null,
      failure: null,
      fileCount: files.length,
      unchangedCount: unchanged,
      totalBytes: files.reduce((sum, file) => sum + file.size, 0),
      createdAt,
      expiresAt,
      liveAt: null,
      pinned: false,
      roomPath: room ?? null,
      build: null,
      baseId,
    })
    return { owned, unchanged }
  })
  return {
    deployId: id,
    wanted: [...wanted.values()].filter((file) => !owned.has(file.sha256)),
    expiresAt,
    unchanged,
  }
}
