import { setImmediate as nextTurn } from 'node:timers/promises'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { QuotaAccount } from './entities.ts'

/** Bytes that several things of a player may share. */
export interface Blob {
  sha256: string
  bytes: number
}

/** A blob, and the number of a player's things that share it. */
export interface BlobCount extends Blob {
  refs: number
}

/** An account that a transaction has locked. */
export type HeldAccount = Pick<QuotaAccount, 'changes' | 'uploadDay' | 'uploadBytes'>

/** The number of blobs in one statement. Other work gets a turn of the event loop before the next one. */
const CHUNK = 250

/**
 * Locks the account of a player until the transaction ends, and creates it if there is none. All changes of their
 * counts therefore run one after the other.
 */
export async function holdAccount(em: SqlEntityManager, ownerId: string): Promise<HeldAccount> {
  const rows = await em.execute<{ changes: number | string; uploadDay: string; uploadBytes: number | string }[]>(
    `insert into quota_accounts (owner_id, changes, upload_day, upload_bytes) values (?, 1, '', 0)
     on conflict (owner_id) do update set changes = quota_accounts.changes + 1
     returning changes, upload_day as "uploadDay", upload_bytes as "uploadBytes"`,
    [ownerId],
    'all',
  )
  const [row] = rows
  return {
    changes: Number(row?.changes ?? 0),
    uploadDay: row?.uploadDay ?? '',
    uploadBytes: Number(row?.uploadBytes ?? 0),
  }
}

/**
 * Does the same for several players. The order is the same in every transaction, so that two players who upload for each
 * other do not deadlock.
 */
export async function holdAccounts(em: SqlEntityManager, ids: readonly string[]): Promise<Map<string, HeldAccount>> {
  const accounts = new Map<string, HeldAccount>()
  for (const id of [...new Set(ids)].sort()) accounts.set(id, await holdAccount(em, id))
  return accounts
}

/** Returns all stored bytes of a player. */
export async function storedBytes(em: SqlEntityManager, ownerId: string): Promise<number> {
  const [row] = await em.execute<{ bytes: number | string }[]>(
    'select coalesce(sum(bytes), 0) as bytes from quota_stored_bytes where owner_id = ?',
    [ownerId],
  )
  return Number(row?.bytes ?? 0)
}

/** Adds to the bytes of a kind. A negative number subtracts, with a minimum of zero. The caller holds the account. */
export async function changeBytes(em: SqlEntityManager, ownerId: string, kind: string, bytes: number): Promise<void> {
  if (bytes === 0) return
  await em.execute(
    `insert into quota_stored_bytes (owner_id, kind, bytes) values (?, ?, ?) on conflict (owner_id, kind) do update
     set bytes = case when quota_stored_bytes.bytes + ? < 0 then 0 else quota_stored_bytes.bytes + ? end`,
    [ownerId, kind, Math.max(0, bytes), bytes, bytes],
    'run',
  )
}

/**
 * Counts one more thing with these blobs. The caller holds the account.
 *
 * @param blobs distinct
 * @param refs the number of things, if it is not one
 * @returns the new bytes
 */
export async function takeBlobs(
  em: SqlEntityManager,
  ownerId: string,
  kind: string,
  blobs: readonly Blob[],
  refs = 1,
): Promise<number> {
  let grown = 0
  for (const chunk of chunksOf(blobs)) {
    if (blobs.length > CHUNK) await nextTurn()
    const rows = await em.execute<{ bytes: number | string; refs: number }[]>(
      `insert into quota_shared_blobs (owner_id, kind, sha256, bytes, refs)
       values ${chunk.map(() => '(?, ?, ?, ?, ?)').join(', ')}
       on conflict (owner_id, kind, sha256, bytes) do update set refs = quota_shared_blobs.refs + excluded.refs
       returning bytes, refs`,
      chunk.flatMap(({ sha256, bytes }) => [ownerId, kind, sha256, bytes, refs]),
      'all',
    )
    for (const { bytes, refs: now } of rows) if (now === refs) grown += Number(bytes)
  }
  return grown
}

/**
 * Counts one thing less with these blobs. The caller holds the account.
 *
 * @param refs the number of things, if it is not one
 * @returns the bytes that are no longer used
 */
export async function releaseBlobs(
  em: SqlEntityManager,
  ownerId: string,
  kind: string,
  blobs: readonly Blob[],
  refs = 1,
): Promise<number> {
  let freed = 0
  for (const chunk of chunksOf(blobs)) {
    if (blobs.length > CHUNK) await nextTurn()
    const { named, values } = rowsOf(ownerId, kind, chunk)
    const rows = await em.execute<{ bytes: number | string }[]>(
      `delete from quota_shared_blobs where ${named} and refs <= ? returning bytes`,
      [...values, refs],
      'all',
    )
    for (const { bytes } of rows) freed += Number(bytes)
    if (rows.length === chunk.length) continue
    // Deleted rows can't match again, and the remaining ones had more references.
    await em.execute(`update quota_shared_blobs set refs = refs - ? where ${named}`, [refs, ...values], 'run')
  }
  return freed
}

/** Sets the numbers of references of blobs; 0 removes a row. The caller holds the account. */
export async function correctBlobs(
  em: SqlEntityManager,
  ownerId: string,
  kind: string,
  right: readonly BlobCount[],
): Promise<void> {
  for (const chunk of chunksOf(right.filter(({ refs }) => refs === 0))) {
    const { named, values } = rowsOf(ownerId, kind, chunk)
    await em.execute(`delete from quota_shared_blobs where ${named}`, values, 'run')
  }
  for (const chunk of chunksOf(right.filter(({ refs }) => refs > 0)))
    await em.execute(
      `insert into quota_shared_blobs (owner_id, kind, sha256, bytes, refs)
       values ${chunk.map(() => '(?, ?, ?, ?, ?)').join(', ')}
       on conflict (owner_id, kind, sha256, bytes) do update set refs = excluded.refs`,
      chunk.flatMap(({ sha256, bytes, refs }) => [ownerId, kind, sha256, bytes, refs]),
      'run',
    )
}

/** Returns the condition for the rows of blobs, and its values. */
function rowsOf(ownerId: string, kind: string, blobs: readonly Blob[]): { named: string; values: (string | number)[] } {
  const places = blobs.map(() => '(cast(? as text), cast(? as bigint))').join(', ')
  return {
    named: `owner_id = ? and kind = ? and (sha256, bytes) in (values ${places})`,
    values: [ownerId, kind, ...blobs.flatMap(({ sha256, bytes }) => [sha256, bytes])],
  }
}

function* chunksOf<B extends Blob>(blobs: readonly B[]): Generator<B[]> {
  // The blobs are sorted, as in all code that locks rows of several players, to prevent deadlocks.
  const sorted = blobs.toSorted((a, b) => (a.sha256 < b.sha256 ? -1 : a.sha256 > b.sha256 ? 1 : a.bytes - b.bytes))
  for (let start = 0; start < sorted.length; start += CHUNK) yield sorted.slice(start, start + CHUNK)
}
