import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Clock } from '../../core/clock.ts'
import { type Actor, recordAction } from '../../core/data/audit.ts'
import type { Database } from '../../core/data/database.ts'
import { QuotaOverride } from './entities.ts'
import { type LimitChanges, type LimitOverrides, type PlayerLimits, QUOTA_NAMES, type QuotaLimits } from './schemas.ts'

/** The limits of each player: those of the configuration, unless an administrator set others. */
export class PlayerLimitsStore {
  readonly #db: Database
  readonly #clock: Clock
  readonly #defaults: QuotaLimits

  constructor({ db, clock }: { db: Database; clock: Clock }, defaults: QuotaLimits) {
    this.#db = db
    this.#clock = clock
    this.#defaults = defaults
  }

  /** @param em the caller's transaction */
  async of(ownerId: string, em: SqlEntityManager = this.#db.em()): Promise<PlayerLimits> {
    return { ...this.#defaults, ...(await this.overridesOf(ownerId, em)) }
  }

  /** Returns the limits that are set for one player. */
  async overridesOf(ownerId: string, em: SqlEntityManager = this.#db.em()): Promise<LimitOverrides> {
    const row = await em.findOne(QuotaOverride, { ownerId })
    return { ...row?.limits }
  }

  /** Sets limits for a player. Existing data stays, whatever the limits. @param by the actor in the audit */
  async change(ownerId: string, changes: LimitChanges, by: Actor): Promise<void> {
    await this.#db.transaction(async (em) => {
      // The insert creates and locks the row, so that concurrent changes are both kept.
      await em.execute(
        'insert into quota_overrides (owner_id, limits, updated_at) values (?, ?, ?) on conflict (owner_id) do update set updated_at = excluded.updated_at',
        [ownerId, '{}', this.#clock.now()],
        'run',
      )
      const row = await em.findOneOrFail(QuotaOverride, { ownerId })
      const before = { ...row.limits }
      const after = { ...before }
      for (const name of QUOTA_NAMES) {
        const limit = changes[name]
        if (limit === 'default') delete after[name]
        else if (limit !== undefined) after[name] = limit
      }
      if (Object.keys(after).length === 0) await em.nativeDelete(QuotaOverride, { ownerId })
      else await em.nativeUpdate(QuotaOverride, { ownerId }, { limits: after })
      await recordAction(em, this.#clock, {
        action: 'player.quotas',
        target: { kind: 'player', id: ownerId },
        by,
        before,
        after,
      })
    })
  }
}
