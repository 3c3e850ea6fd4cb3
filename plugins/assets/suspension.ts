import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import { type Actor, PROGRAM, recordAction } from '../../core/data/audit.ts'
import { NotFound } from '../../core/errors.ts'
import type { AssetStore } from './asset-store.ts'
import { AssetRow } from './entities.ts'
import { AppealedAlready, NotSuspended } from './errors.ts'
import type { AssetRecord } from './record.ts'

/** The maximum lengths of a reason and of its answer, in characters. */
export const REASON_LENGTH = 1000
export const APPEAL_LENGTH = 2000

/** The reason of assets that were suspended with their owner's account. They are restored with it. */
const ACCOUNT_DISABLED = 'The account of its maker is disabled.'

type State = Pick<AssetRow, 'suspendedAt' | 'suspensionReason' | 'appeal'>
type Parts = Pick<FastifyInstance, 'db' | 'clock' | 'events'>
/** Notifies every node of a committed change. */
type Announce = () => Promise<void>

/**
 * Suspends assets independently of their owners' settings (contracts, section 19). Their files answer 451 at every
 * address, and no list contains them. Serving uses the cached asset, which `asset.changed` invalidates.
 */
export class Suspensions {
  readonly #parts: Parts
  readonly #assets: AssetStore

  constructor(parts: Parts, assets: AssetStore) {
    this.#parts = parts
    this.#assets = assets
  }

  /**
   * Suspends an asset. A suspended asset gets the new reason, and its owner may answer again.
   *
   * @param reason the text for its owner
   * @throws NotFound
   */
  async suspend(idOrSlug: string, reason: string, by = PROGRAM): Promise<AssetRecord> {
    const { id } = await this.#assets.get(idOrSlug)
    await (await this.#parts.db.transaction((em) => this.suspendIn(em, id, { reason, by })))()
    return this.#assets.get(id)
  }

  /**
   * Does the same in the caller's transaction.
   *
   * @returns a function that notifies every node; call it after the transaction
   */
  suspendIn(em: SqlEntityManager, id: string, { reason, by }: { reason: string; by: Actor }): Promise<Announce> {
    const suspensionReason = reason.trim().slice(0, REASON_LENGTH)
    return this.#set(em, id, { suspendedAt: this.#parts.clock.now(), suspensionReason, appeal: null }, by)
  }

  /** Serves the files again. An asset that is not suspended stays unchanged. @throws NotFound */
  async lift(idOrSlug: string, by = PROGRAM): Promise<AssetRecord> {
    const { id } = await this.#assets.get(idOrSlug)
    await (await this.#parts.db.transaction((em) => this.liftIn(em, id, by)))()
    return this.#assets.get(id)
  }

  /**
   * Does the same in the caller's transaction.
   *
   * @returns a function that notifies every node; call it after the transaction
   */
  liftIn(em: SqlEntityManager, id: string, by: Actor): Promise<Announce> {
    return this.#set(em, id, { suspendedAt: null, suspensionReason: null, appeal: null }, by)
  }

  /**
   * Stores the owner's single answer to the reason.
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
   * Suspends the assets of a player whose account is disabled, or lifts these suspensions, in the caller's transaction.
   *
   * @returns a function that notifies every node; call it after the transaction
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

  async #set(em: SqlEntityManager, id: string, changes: State, by: Actor): Promise<Announce> {
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
    return () => this.#announce(id)
  }

  #announce(assetId: string): Promise<void> {
    return this.#parts.events.emit('asset.changed', { assetId })
  }
}
