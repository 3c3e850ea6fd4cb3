import type { SqlEntityManager } from '@mikro-orm/sql'
import type { StoredThing } from './schemas.ts'
import type { Blob } from './storage-accounts.ts'

/** A kind of data that a plugin stores for players. */
export interface StoredKind {
  /** The display name, such as `Deploys`. */
  label: string
  /** Lists all players who have something of this kind. */
  owners(): Promise<string[]>
  /** Recounts a player's data from the original rows, not from the counts. */
  tally(ownerId: string): Promise<Tally>
  /** Lists the largest things that a player may view and remove. @param limit the maximum number of things */
  things(ownerId: string, limit: number): Promise<StoredThing[]>
  /** Removes a thing of the player. @throws NotFound, or the reason why it stays */
  remove(ownerId: string, id: string): Promise<unknown>
  /**
   * Counts what a game has of this kind, where that counts for the owner of the game, in the caller's transaction. It yields
   * one thing after the other, since all blobs of a game's deploys are too many for the memory.
   *
   * @param known the things that are counted already, and left out; only of a kind with `idsOfGame`
   */
  ofGame?(em: SqlEntityManager, gameId: string, known: ReadonlySet<string>): AsyncIterable<GameThing>
  /**
   * Lists what `ofGame` yields, where that takes long. It is then read before a transaction that needs it. A thing with an
   * id never changes.
   */
  idsOfGame?(em: SqlEntityManager, gameId: string): Promise<string[]>
}

/** What a thing of a game counts, with its id if the kind has `idsOfGame`. */
export interface GameThing extends Tally {
  id?: string
}

/** The result of a recount. */
export interface Tally {
  /** The bytes that are not shared. */
  bytes: number
  /** Shared blobs, once for each thing that contains them. */
  blobs: Blob[]
}
