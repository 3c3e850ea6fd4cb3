import type { SqlEntityManager } from '@mikro-orm/sql'
import { type BlobCount, changeBytes, releaseBlobs, takeBlobs } from './storage-accounts.ts'
import type { GameThing, StoredKind } from './stored-kinds.ts'

/** What a game has of a kind. */
class GameTally {
  /** The bytes that are not shared. */
  bytes = 0
  /** All bytes, with each blob once. */
  total = 0
  /** The things that never change and are counted. */
  readonly ids = new Set<string>()
  readonly #counts = new Map<string, BlobCount>()

  get blobs(): BlobCount[] {
    return [...this.#counts.values()]
  }

  add({ id, bytes, blobs }: GameThing): void {
    if (id !== undefined) this.ids.add(id)
    this.bytes += bytes
    this.total += bytes
    for (const { sha256, bytes } of blobs) {
      const first = this.#counts.get(sha256)
      // A content with a second size, of which one is false, has a key of its own.
      const key = first === undefined || first.bytes === bytes ? sha256 : `${sha256} ${bytes}`
      const before = key === sha256 ? first : this.#counts.get(key)
      if (before) before.refs++
      else {
        this.#counts.set(key, { sha256, bytes, refs: 1 })
        this.total += bytes
      }
    }
  }
}

/** What a game has of the kinds that take long to read, from before the transaction that moves it. */
export type ReadTallies = ReadonlyMap<string, GameTally>

/** Counts what a game has of a kind; nothing of a kind that does not count for the owner of a game. */
export async function tallyOfGame(
  em: SqlEntityManager,
  kind: StoredKind,
  gameId: string,
  tally: GameTally = new GameTally(),
): Promise<GameTally> {
  for await (const thing of kind.ofGame?.(em, gameId, tally.ids) ?? []) tally.add(thing)
  return tally
}

/** Counts before a transaction what takes long to read. */
export async function readTallies(
  em: SqlEntityManager,
  kinds: ReadonlyMap<string, StoredKind>,
  gameId: string,
): Promise<ReadTallies> {
  const tallies = new Map<string, GameTally>()
  for (const [name, kind] of kinds) if (kind.idsOfGame) tallies.set(name, await tallyOfGame(em, kind, gameId))
  return tallies
}

/**
 * Completes what was counted before with what has come since, in the transaction. When something of it has gone, all is
 * read again.
 */
async function completed(
  em: SqlEntityManager,
  kind: StoredKind,
  gameId: string,
  before: GameTally | undefined,
): Promise<GameTally> {
  if (!before || !kind.idsOfGame) return tallyOfGame(em, kind, gameId)
  const ids = new Set(await kind.idsOfGame(em, gameId))
  return tallyOfGame(em, kind, gameId, before.ids.isSubsetOf(ids) ? before : new GameTally())
}

/**
 * Moves the counts of a game from one account to another. The caller holds both accounts and the row of the game, so
 * that nothing of the game is counted meanwhile.
 *
 * @param tallies from `readTallies`; what is missing there is read now
 * @returns the bytes by which the new owner's storage grows
 */
export async function moveGame(
  em: SqlEntityManager,
  kinds: ReadonlyMap<string, StoredKind>,
  {
    gameId,
    fromId,
    toId,
    tallies,
  }: { gameId: string; fromId: string; toId: string; tallies?: ReadTallies | undefined },
): Promise<number> {
  let moved = 0
  for (const [name, kind] of kinds) {
    const { bytes, blobs } = await completed(em, kind, gameId, tallies?.get(name))
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
