import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Clock } from '../../../core/clock.ts'
import { RefreshToken } from '../oauth/entities.ts'
import { Passkey } from '../passkeys/entities.ts'
import { Session } from '../sessions/entities.ts'
import { UpstreamAccount } from '../upstream/entities.ts'

/** Something that opens an account without its password. Inside of transactions, so nothing else can be awaited. */
export interface SignInMethod {
  /** Which of these players could come back by it. */
  openFor(em: SqlEntityManager, playerIds: string[]): Promise<string[]>
  /** Ends it, where an account becomes its owner's own. Whoever asks for it tells of `player.changed`. */
  close(em: SqlEntityManager, playerId: string): Promise<unknown>
}

/** By what a player comes in beside the password; plugins add theirs. */
export class SignInMethods {
  readonly #ways: SignInMethod[]

  constructor(clock: Clock) {
    this.#ways = [
      holding(Passkey, () => ({})),
      holding(UpstreamAccount, () => ({})),
      holding(Session, () => ({ expiresAt: { $gt: clock.now() } })),
      holding(RefreshToken, () => ({ expiresAt: { $gt: clock.now() }, usedAt: null })),
    ]
  }

  add(way: SignInMethod): void {
    this.#ways.push(way)
  }

  /** Ends them all: others may have made them, who had the account before its owner, or together with them. */
  async close(em: SqlEntityManager, playerId: string): Promise<void> {
    for (const way of this.#ways) await way.close(em, playerId)
  }

  /** Those of the players who could come back by any. */
  async openFor(em: SqlEntityManager, playerIds: string[]): Promise<Set<string>> {
    const open = new Set<string>()
    for (const way of this.#ways) for (const id of await way.openFor(em, playerIds)) open.add(id)
    return open
  }
}

/** A way in by the rows of a table; `works` picks those that still do. */
function holding(entity: new () => { playerId: string }, works: () => object): SignInMethod {
  const table = entity as typeof Passkey
  return {
    openFor: async (em, playerIds) => {
      const rows = await em.find(table, { playerId: { $in: playerIds }, ...works() }, { fields: ['playerId'] })
      return rows.map(({ playerId }) => playerId)
    },
    close: (em, playerId) => em.nativeDelete(table, { playerId }),
  }
}
