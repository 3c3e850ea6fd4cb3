import type { Clock } from '../../../core/clock.ts'
import type { Database } from '../../../core/database.ts'
import { Consent } from './entities.ts'

/** What players have allowed applications to know. */
export class Consents {
  readonly #db: Database
  readonly #clock: Clock

  constructor({ db, clock }: { db: Database; clock: Clock }) {
    this.#db = db
    this.#clock = clock
  }

  /** Whether a player has allowed all of these scopes. */
  async covers(playerId: string, clientId: string, scope: string[]): Promise<boolean> {
    const consent = await this.#db.em().findOne(Consent, { playerId, clientId })
    const allowed = new Set(consent?.scope.split(' '))
    return consent !== null && scope.every((name) => allowed.has(name))
  }

  /** Remembers a yes, beside earlier ones. */
  async remember(playerId: string, clientId: string, scope: string[]): Promise<void> {
    await this.#db.transaction(async (em) => {
      const earlier = await em.findOne(Consent, { playerId, clientId })
      const all = [...new Set([...(earlier?.scope.split(' ') ?? []), ...scope])].sort().join(' ')
      await em.upsert(Consent, { playerId, clientId, scope: all, updatedAt: this.#clock.now() })
    })
  }
}
