import type { SqlEntityManager } from '@mikro-orm/sql'
import type { QuotaAccount } from './entities.ts'

/** Bytes that several things of a player may share. */
export interface Blob {
  sha256: string
  bytes: number
}

/** Blobs of one statement. */
const CHUNK = 250

/**
 * Holds the account of a player until the transaction ends, and makes it if there is none: everything that counts for
 * them happens one after the other.
 */
export async function holdAccount(
  em: SqlEntityManager,
  ownerId: string,
): Promise<Pick<QuotaAccount, 'changes' | 'uploadDay' | 'uploadBytes'>> {
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

/** All bytes kept for a player. */
export async function storedBytes(em: SqlEntityManager, ownerId: string): Promise<number> {
  const [row] = await em.execute<{ bytes: number | string }[]>(
    'select coalesce(sum(bytes), 0) as bytes from quota_stored_bytes where owner_id = ?',
    [ownerId],
  )
  return Number(row?.bytes ?? 0)
}

/** Adds to what is kept of a kind; a negative number takes away, down to nothing. The account is held. */
export async function changeBytes(em: SqlEntityManager, ownerId: string, kind: string, bytes: number): Promise<void> {
  if (bytes === 0) return
  await em.execute(
    `insert into quota_stored_bytes (owner_id, kind, bytes) values (?, ?, ?) on conflict (owner_id, kind) do update
     set bytes = case when quota_stored_bytes.bytes + ? < 0 then 0 else quota_stored_bytes.bytes + ? end`,
    [ownerId, kind, Math.max(0, bytes), bytes, bytes],
    'run',
  )
}

/** Counts one thing more that has these blobs. The account is held. @param blobs distinct  @returns the bytes that are new */
export async function takeBlobs(
  em: SqlEntityManager,
  ownerId: string,
  kind: string,
  blobs: readonly Blob[],
): Promise<number> {
  let grown = 0
  for (const chunk of chunksOf(blobs)) {
    const rows = await em.execute<{ bytes: number | string; refs: number }[]>(
      `insert into quota_shared_blobs (owner_id, kind, sha256, bytes, refs)
       values ${chunk.map(() => '(?, ?, ?, ?, 1)').join(', ')}
       on conflict (owner_id, kind, sha256, bytes) do update set refs = quota_shared_blobs.refs + 1
       returning bytes, refs`,
      chunk.flatMap(({ sha256, bytes }) => [ownerId, kind, sha256, bytes]),
      'all',
    )
    for (const { bytes, refs } of rows) if (refs === 1) grown += Number(bytes)
  }
  return grown
}

/** Counts one thing less that has these blobs. The account is held. @returns the bytes that nothing has any more */
export async function releaseBlobs(
  em: SqlEntityManager,
  ownerId: string,
  kind: string,
  blobs: readonly Blob[],
): Promise<number> {
  let freed = 0
  for (const chunk of chunksOf(blobs)) {
    const named = `owner_id = ? and kind = ? and (sha256, bytes) in
      (values ${chunk.map(() => '(cast(? as text), cast(? as bigint))').join(', ')})`
    const values = [ownerId, kind, ...chunk.flatMap(({ sha256, bytes }) => [sha256, bytes])]
    const rows = await em.execute<{ bytes: number | string }[]>(
      `delete from quota_shared_blobs where ${named} and refs <= 1 returning bytes`,
      values,
      'all',
    )
    for (const { bytes } of rows) freed += Number(bytes)
    if (rows.length === chunk.length) continue
    // What was deleted is not there to be met again, and what is left had two or more.
    await em.execute(`update quota_shared_blobs set refs = refs - 1 where ${named}`, values, 'run')
  }
  return freed
}

function* chunksOf(blobs: readonly Blob[]): Generator<Blob[]> {
  // In order, as everything that holds rows of several players does.
  const sorted = blobs.toSorted((a, b) => (a.sha256 < b.sha256 ? -1 : a.sha256 > b.sha256 ? 1 : a.bytes - b.bytes))
  for (let start = 0; start < sorted.length; start += CHUNK) yield sorted.slice(start, start + CHUNK)
}
