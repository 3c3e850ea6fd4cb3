import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../../core/data/database.ts'
import { SaveBusy } from '../errors.ts'

/** Returns the storage key of a large value, which depends only on its digest. */
export const blobKey = (sha256: string): string => `saves/${sha256.slice(0, 2)}/${sha256}`

const TRIES = 20
const WAIT_MS = 50

/**
 * Protects a blob from garbage collection for an hour, whether or not its bytes exist yet. A blob that is being removed
 * is waited for.
 *
 * @throws SaveBusy when the removal takes longer than a second
 */
export async function reserve(db: Database, sha256: string, now: Date): Promise<void> {
  for (let tries = 0; tries < TRIES; tries++) {
    const rows = await db.execute(
      `insert into save_blobs (sha256, used_at, condemned_at) values (?, ?, null)
       on conflict (sha256) do update set used_at = excluded.used_at where save_blobs.condemned_at is null`,
      [sha256, now],
    )
    if (rows === 1) return
    await sleep(WAIT_MS)
  }
  throw new SaveBusy().with({ headers: { 'retry-after': '1' } })
}
