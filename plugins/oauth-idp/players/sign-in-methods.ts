import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Clock } from '../../../core/clock.ts'
import type { Database } from '../../../core/data/database.ts'
import { LastSignInMethod } from '../errors.ts'
import { RefreshToken } from '../oauth/entities.ts'
import { Passkey } from '../passkeys/entities.ts'
import { Session } from '../sessions/entities.ts'
import { UpstreamAccount } from '../upstream/entities.ts'
import { PlayerRow } from './entities.ts'

/** The sign-in methods that last, by the name under which they are counted. */
export type RemovableMethod = 'passkeys' | 'providers' | 'tokens'
export type RemovedMethods = Partial<Record<RemovableMethod, number>>

/** A sign-in method other than the password. It runs inside transactions, so nothing else may be awaited. */
export interface SignInMethod {
  /** Counts what it removes under this name, if players know it as a thing of theirs. */
  name?: RemovableMethod | undefined
  /** Returns the players who could sign in by this method. */
  openFor(em: SqlEntityManager, playerIds: string[]): Promise<string[]>
  /**
   * Removes it when an account passes to its rightful owner. The caller then emits `player.changed`.
   *
   * @returns the number of removed rows
   */
  close(em: SqlEntityManager, playerId: string): Promise<number>
}

/** The sign-in methods other than the password. Plugins add theirs. */
export class SignInMethods {
  readonly #ways: SignInMethod[]
  readonly #host: string
  readonly #providers: string[]

  /** @param configured `host`: that of the portal, to which passkeys are bound; `providers`: names in `auth.providers` */
  constructor(clock: Clock, configured: { host: string; providers: string[] }) {
    this.#host = configured.host
    this.#providers = configured.providers
    this.#ways = [
      holding(Passkey, () => ({}), 'passkeys'),
      holding(UpstreamAccount, () => ({}), 'providers'),
      holding(Session, () => ({ expiresAt: { $gt: clock.now() } })),
      holding(RefreshToken, () => ({ expiresAt: { $gt: clock.now() }, usedAt: null })),
    ]
  }

  add(way: SignInMethod): void {
    this.#ways.push(way)
  }

  /**
   * Removes all of them: somebody with earlier or concurrent access to the account may have added them.
   *
   * @returns the numbers of those that were removed
   */
  async close(em: SqlEntityManager, playerId: string): Promise<RemovedMethods> {
    const removed: RemovedMethods = {}
    for (const { name, ...way } of this.#ways) {
      const rows = await way.close(em, playerId)
      if (name && rows > 0) removed[name] = (removed[name] ?? 0) + rows
    }
    return removed
  }

  /**
   * Removes a passkey or a connected account, unless it is the only way in which the player can sign in again.
   *
   * @param remove returns the number of removed rows
   * @returns that number
   * @throws LastSignInMethod
   */
  removeOne(db: Database, playerId: string, remove: (em: SqlEntityManager) => Promise<number>): Promise<number> {
    const work = async (em: SqlEntityManager) => {
      const before = await this.#countLasting(em, playerId)
      const rows = await remove(em)
      if (before > 0 && (await this.#countLasting(em, playerId)) === 0) throw new LastSignInMethod()
      return rows
    }
    // Two requests that each remove one of two methods must not both find the other.
    return db.transaction(work, { alone: true })
  }

  /** Counts the methods that work without a session. */
  async #countLasting(em: SqlEntityManager, playerId: string): Promise<number> {
    const passwords = await em.count(PlayerRow, { id: playerId, passwordHash: { $ne: null } })
    const passkeys = await em.count(Passkey, { playerId, $or: [{ rpId: null }, { rpId: this.#host }] })
    const accounts = await em.count(UpstreamAccount, { playerId, provider: { $in: this.#providers } })
    return passwords + passkeys + accounts
  }

  /** Returns the players who could sign in by any method. */
  async openFor(em: SqlEntityManager, playerIds: string[]): Promise<Set<string>> {
    const open = new Set<string>()
    for (const way of this.#ways) for (const id of await way.openFor(em, playerIds)) open.add(id)
    return open
  }
}

/** Creates a sign-in method from the rows of a table. `works` selects the rows that are still valid. */
function holding(entity: new () => { playerId: string }, works: () => object, name?: RemovableMethod): SignInMethod {
  const table = entity as typeof Passkey
  return {
    name,
    openFor: async (em, playerIds) => {
      const rows = await em.find(table, { playerId: { $in: playerIds }, ...works() }, { fields: ['playerId'] })
      return rows.map(({ playerId }) => playerId)
    },
    close: (em, playerId) => em.nativeDelete(table, { playerId }),
  }
}
