import type { Database } from '../../../core/data/database.ts'
import type { Storage } from '../../../drivers/storage/interface.ts'
import { forEach } from '../concurrency.ts'
import type { Contents, Manifests } from '../manifest/manifests.ts'
import { blobKey } from './blobs.ts'
import { knownBlobs } from './known-blobs.ts'

/** The number of blobs whose size is read concurrently. */
const CONCURRENCY = 16
/** The maximum number of files in a response. */
const SHOWN = 20

/**
 * Lists the files that a player has already, and announces with another size than the stored bytes have. Quotas count the
 * announced size, and whatever reads the file relies on it.
 *
 * Sizes that the live deploy of the game has too were checked when it was finalized. Only the others are read from the
 * storage.
 */
export async function falseSizes(
  { db, storage, manifests }: { db: Database; storage: Storage; manifests: Manifests },
  { playerId, gameId, liveDeployId }: { playerId: string; gameId: string; liveDeployId: string | null },
  contents: Contents,
): Promise<{ path: string; message: string }[]> {
  const known = liveDeployId === null ? null : await manifests.contentsOf(liveDeployId)
  const unknown = [...contents].filter(([sha256, { size }]) => known?.get(sha256)?.size !== size)
  const owned = await knownBlobs(
    (sql, values) => db.query(sql, values),
    { playerId, gameId },
    unknown.map(([sha256]) => sha256),
  )
  const found: { path: string; message: string }[] = []
  const claimed = unknown.filter(([sha256]) => owned.has(sha256))
  await forEach(CONCURRENCY, claimed, async ([sha256, { size, path }]) => {
    const blob = await storage.head(blobKey(sha256))
    if (blob && blob.size !== size && found.length < SHOWN) {
      found.push({ path, message: `has ${blob.size} bytes and not ${size}` })
    }
  })
  return found
}
