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
  const { bytes, blobs } = (await kind.ofGame?.(em, gameId)) ?? { bytes: 0, blobs: [] }
  const counts = new Map<string, BlobCount>()
  let total = bytes
  for (const blob of blobs) {
    const key = `${blob.sha256} ${blob.bytes}`
    const before = counts.get(key)
    if (before) before.refs++
    else {
      counts.set(key, { sha256: blob.sha256, bytes: blob.bytes, refs: 1 })
      total += blob.bytes
    }
  }
  return { bytes, blobs: [...counts.values()], total }
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
