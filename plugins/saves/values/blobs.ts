import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../../core/data/database.ts'
import type { Storage } from '../../../drivers/storage/interface.ts'
import { SaveBusy } from '../errors.ts'

/** Returns the storage key of a large value, which depends only on its digest. */
export const blobKey = (sha256: string): string => `saves/${sha256.slice(0, 2)}/${sha256}`

const TRIES = 20
const WAIT_MS = 50

/**
 * Protects a blob from garbage collection for an hour, whether or not its bytes exist yet, and from removal until
 * `release`. A blob that is being removed is waited for.
 *
 * @throws SaveBusy when the removal takes longer than a second
 */
export async function reserve(db: Database, sha256: string, now: Date): Promise<void> {
  for (let tries = 0; tries < TRIES; tries++) {
    const rows = await db.execute(
      `insert into save_blobs (sha256, used_at, condemned_at, pending) values (?, ?, null, 1)
       on conflict (sha256) do update set used_at = excluded.used_at, pending = save_blobs.pending + 1
       where save_blobs.condemned_at is null`,
      [sha256, now],
    )
    if (rows === 1) return
    await sleep(WAIT_MS)
  }
  throw new SaveBusy().with({ headers: { 'retry-after': '1' } })
}

/** Ends what `reserve` began: the value has a version now, or will never have one. */
export async function release(statements: Pick<Database, 'execute'>, sha256: string): Promise<void> {
  await statements.execute('update save_blobs set pending = pending - 1 where sha256 = ? and pending > 0', [sha256])
}

/**
 * Removes the bytes of a value that no version refers to, and that no change is about to refer to.
 *
 * @returns whether they were removed
 */
export async function removeUnused(
  { db, storage }: { db: Database; storage: Storage },
  sha256: string,
  now: Date,
): Promise<boolean> {
  const condemned = await db.execute(
    `update save_blobs set condemned_at = ? where sha256 = ? and pending = 0 and condemned_at is null
     and not exists (select 1 from save_versions v where v.sha256 = save_blobs.sha256)`,
    [now, sha256],
  )
  if (condemned === 1) await erase({ db, storage }, sha256)
  return condemned === 1
}

/** Removes the bytes before the row. In the other order, a crash would leave unknown bytes. */
export async function erase({ db, storage }: { db: Database; storage: Storage }, sha256: string): Promise<void> {
  await storage.delete(blobKey(sha256))
  await db.execute('delete from save_blobs where sha256 = ? and condemned_at is not null', [sha256])
}
