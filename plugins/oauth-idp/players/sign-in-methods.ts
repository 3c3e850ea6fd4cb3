import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Clock } from '../../../core/clock.ts'
import { RefreshToken } from '../oauth/entities.ts'
import { Passkey } from '../passkeys/entities.ts'
import { Session } from '../sessions/entities.ts'
import { UpstreamAccount } from '../upstream/entities.ts'

/** A sign-in method other than the password. It runs inside transactions, so nothing else may be awaited. */
export interface SignInMethod {
  /** Returns the players who could sign in by this method. */
  openFor(em: SqlEntityManager, playerIds: string[]): Promise<string[]>
  /** Removes it when an account passes to its rightful owner. The caller then emits `player.changed`. */
  close(em: SqlEntityManager, playerId: string): Promise<unknown>
}

/** The sign-in methods other than the password. Plugins add theirs. */
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

  /** Removes all of them: somebody with earlier or concurrent access to the account may have added them. */
  async close(em: SqlEntityManager, playerId: string): Promise<void> {
    for (const way of this.#ways) await way.close(em, playerId)
  }

  /** Returns the players who could sign in by any method. */
  async openFor(em: SqlEntityManager, playerIds: string[]): Promise<Set<string>> {
    const open = new Set<string>()
    for (const way of this.#ways) for (const id of await way.openFor(em, playerIds)) open.add(id)
    return open
  }
}

/** Creates a sign-in method from the rows of a table. `works` selects the rows that are still valid. */
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
