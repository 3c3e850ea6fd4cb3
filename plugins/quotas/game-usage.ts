import type { SqlEntityManager } from '@mikro-orm/sql'
import { type BlobCount, changeBytes, releaseBlobs, takeBlobs } from './storage-accounts.ts'
import type { StoredKind } from './stored-kinds.ts'

/** What a game has of a kind. */
interface GameTally {
  /** The bytes that are not shared. */
  bytes: number
  blobs: readonly BlobCount[]
  /** All bytes, with each blob once. */
  total: number
}

/** Counts what a game has of a kind; nothing of a kind that does not count for the owner of a game. */
export async function tallyOfGame(em: SqlEntityManager, kind: StoredKind, gameId: string): Promise<GameTally> {
  const tally = { bytes: 0, total: 0 }
  const counts = new Map<string, BlobCount>()
  for await (const { bytes, blobs } of kind.ofGame?.(em, gameId) ?? []) {
    tally.bytes += bytes
    tally.total += bytes
    for (const { sha256, bytes } of blobs) {
      const first = counts.get(sha256)
      // A content with a second size, of which one is false, has a key of its own.
      const key = first === undefined || first.bytes === bytes ? sha256 : `${sha256} ${bytes}`
      const before = key === sha256 ? first : counts.get(key)
      if (before) before.refs++
      else {
        counts.set(key, { sha256, bytes, refs: 1 })
        tally.total += bytes
      }
    }
  }
  return { ...tally, blobs: [...counts.values()] }
}

/**
 * Moves the counts of a game from one account to another. The caller holds both accounts and the row of the game, so
 * that nothing of the game is counted meanwhile.
 *
 * @returns the bytes by which the new owner's storage grows
 */
export async function moveGame(
  em: SqlEntityManager,
  kinds: ReadonlyMap<string, StoredKind>,
  { gameId, fromId, toId }: { gameId: string; fromId: string; toId: string },
): Promise<number> {
  let moved = 0
  for (const [name, kind] of kinds) {
    const { bytes, blobs } = await tallyOfGame(em, kind, gameId)
    let [freed, grown] = [bytes, bytes]
    // One statement changes the counts of many blobs by the same number.
    for (const [refs, some] of Map.groupBy(blobs, (blob) => blob.refs)) {
      freed += await releaseBlobs(em, fromId, name, some, refs)
      grown += await takeBlobs(em, toId, name, some, refs)
    }
    await changeBytes(em, fromId, name, -freed)
    await changeBytes(em, toId, name, grown)
    moved += grown
  }
  return moved
}
