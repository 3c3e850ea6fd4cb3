import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import { type Actor, PROGRAM, recordAction } from '../../core/data/audit.ts'
import { NotFound } from '../../core/errors.ts'
import type { AssetStore } from './asset-store.ts'
import { AssetRow } from './entities.ts'
import { AppealedAlready, NotSuspended } from './errors.ts'
import type { AssetRecord } from './record.ts'

/** The longest reason and the longest answer to it, in characters. */
export const REASON_LENGTH = 1000
export const APPEAL_LENGTH = 2000

/** The reason of assets that were suspended together with their owner's account; they come back with it. */
const ACCOUNT_DISABLED = 'The account of its maker is disabled.'

type State = Pick<AssetRow, 'suspendedAt' | 'suspensionReason' | 'appeal'>
type Parts = Pick<FastifyInstance, 'db' | 'clock' | 'events'>
/** Tells every node of a change that is committed. */
type Announce = () => Promise<void>

/**
 * Suspends assets, apart from what their owners set (contracts, section 19): their files answer 451 wherever they are
 * linked, and no list has them. Serving asks the asset that it has in memory, and hears of a change by `asset.changed`.
 */
export class Suspensions {
  readonly #parts: Parts
  readonly #assets: AssetStore

  constructor(parts: Parts, assets: AssetStore) {
    this.#parts = parts
    this.#assets = assets
  }

  /**
   * Suspends an asset; one that is suspended already gets the new reason, and its owner may answer that.
   *
   * @param reason what its owner reads
   * @throws NotFound
   */
  suspend(idOrSlug: string, reason: string, by = PROGRAM): Promise<AssetRecord> {
    const suspensionReason = reason.trim().slice(0, REASON_LENGTH)
    return this.#set(idOrSlug, { suspendedAt: this.#parts.clock.now(), suspensionReason, appeal: null }, by)
  }

  /** Serves its files again. An asset that is not suspended stays as it is. @throws NotFound */
  lift(idOrSlug: string, by = PROGRAM): Promise<AssetRecord> {
    return this.#set(idOrSlug, { suspendedAt: null, suspensionReason: null, appeal: null }, by)
  }

  /**
   * The owner's answer to the reason, once.
   *
   * @throws NotFound when the asset is not the player's; NotSuspended; AppealedAlready
   */
  async appeal(playerId: string, idOrSlug: string, text: string): Promise<AssetRecord> {
    const { id, suspended } = await this.#assets.mustOwn(playerId, idOrSlug)
    if (!suspended) throw new NotSuspended()
    const appeal = text.trim().slice(0, APPEAL_LENGTH)
    const open = { id, ownerId: playerId, suspendedAt: { $ne: null }, appeal: null }
    if ((await this.#parts.db.em().nativeUpdate(AssetRow, open, { appeal })) === 0) throw new AppealedAlready()
    await this.#announce(id)
    return this.#assets.get(id)
  }

  /**
   * Suspends the assets of a player whose account is disabled, or lifts what that had suspended, within the caller's
   * transaction.
   *
   * @returns tells every node; to be called after the transaction
   */
  async followAccount(em: SqlEntityManager, ownerId: string, disabled: boolean): Promise<Announce> {
    const which = { ownerId, ...(disabled ? { suspendedAt: null } : { suspensionReason: ACCOUNT_DISABLED }) }
    const rows = await em.find(AssetRow, which, { fields: ['id'] })
    const changes = disabled
      ? { suspendedAt: this.#parts.clock.now(), suspensionReason: ACCOUNT_DISABLED, appeal: null }
      : { suspendedAt: null, suspensionReason: null, appeal: null }
    await em.nativeUpdate(AssetRow, which, changes)
    return async () => {
      for (const { id } of rows) await this.#announce(id)
    }
  }

  async #set(idOrSlug: string, changes: State, by: Actor): Promise<AssetRecord> {
    const { id } = await this.#assets.get(idOrSlug)
    await this.#parts.db.transaction(async (em) => {
      const before = await em.findOne(AssetRow, { id }, { fields: ['suspensionReason', 'appeal'] })
      if (!before) throw new NotFound('asset')
      await em.nativeUpdate(AssetRow, { id }, changes)
      await recordAction(em, this.#parts.clock, {
        by,
        action: changes.suspendedAt ? 'asset.suspend' : 'asset.lift',
        target: { kind: 'asset', id },
        reason: changes.suspensionReason ?? null,
        before: { suspended: before.suspensionReason ?? null, appeal: before.appeal ?? null },
        after: { suspended: changes.suspensionReason ?? null },
      })
    })
    await this.#announce(id)
    return this.#assets.get(id)
  }

  #announce(assetId: string): Promise<void> {
    return this.#parts.events.emit('asset.changed', { assetId })
  }
}
