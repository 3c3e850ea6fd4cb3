import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { ByteRange } from '../../../core/data/byte-range.ts'
import type { Storage } from '../../../drivers/storage/interface.ts'
import { BlobBusy } from '../errors.ts'

/** Returns the storage key of a build's bytes, which depends only on their digest. */
export const blobKey = (sha256: string): string => `blobs/${sha256.slice(0, 2)}/${sha256}`

/** Streams the bytes of a build's file, and never more than its announced size. @throws BlobNotFound */
export function openBlob(
  storage: Storage,
  { sha256, size }: { sha256: string; size: number },
  { start, end }: ByteRange = { start: 0, end: size - 1 },
): Promise<Readable> {
  // A range can't be empty.
  if (size === 0) return Promise.resolve(Readable.from([]))
  return storage.get(blobKey(sha256), { start, end: Math.min(end, size - 1) })
}

/**
 * The key of bytes that a client sent straight to the storage. It differs from the key of the blob, so that an existing
 * blob of another owner is not taken for an upload.
 */
export const uploadKey = (deployId: string, sha256: string): string => `uploads/${deployId}/${sha256}`

/**
 * The number of placeholders in one statement. Between two statements other work gets a turn of the event loop, also
 * inside a transaction: SQLite answers within the turn, so 20,000 digests would hold everybody up for a second.
 */
const CHUNK = 500

/**
 * Splits digests into chunks for one statement each. All chunks have the same length, so that statements stay prepared.
 */
export function* chunksOf(digests: readonly string[]): Generator<string[]> {
  for (let start = 0; start < digests.length; start += CHUNK) {
    const chunk = digests.slice(start, start + CHUNK)
    const last = chunk.at(-1) as string
    yield [...chunk, ...Array<string>(CHUNK - chunk.length).fill(last)]
  }
}

/** The placeholders for a chunk. */
export const PLACEHOLDERS = Array(CHUNK).fill('?').join(', ')

/**
 * Protects blobs from garbage collection for a day, whether or not their bytes exist yet.
 *
 * @throws BlobBusy when one of them is being removed right now
 */
export async function reserve(em: SqlEntityManager, digests: readonly string[], now: Date): Promise<void> {
  for (let start = 0; start < digests.length; start += CHUNK) {
    if (start > 0) await nextTurn()
    // The rows are sorted, so that two transactions with the same digests wait for each other instead of deadlocking.
    const chunk = digests.slice(start, start + CHUNK)
    const rows = chunk.map(() => '(?, ?, null)').join(', ')
    const result = await em.execute<{ affectedRows: number }>(
      `insert into blobs (sha256, used_at, condemned_at) values ${rows}
       on conflict (sha256) do update set used_at = excluded.used_at where blobs.condemned_at is null`,
      chunk.flatMap((sha256) => [sha256, now]),
      'run',
    )
    if (result.affectedRows !== chunk.length) throw new BlobBusy().with({ headers: { 'retry-after': '1' } })
  }
  // Compressed forms of the blobs are kept as long as the blobs.
  for (const chunk of chunksOf(digests)) {
    if (digests.length > CHUNK) await nextTurn()
    await em.execute(
      `update blobs set used_at = ? where condemned_at is null and sha256 in
       (select variant_sha256 from blob_variants where sha256 in (${PLACEHOLDERS}))`,
      [now, ...chunk],
      'run',
    )
  }
}
