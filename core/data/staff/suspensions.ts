import { type EntityName, LockMode } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Clock } from '../../clock.ts'
import { defineError, Forbidden, NotFound } from '../../errors.ts'
import { type Actor, PROGRAM, recordAction } from '../audit.ts'
import type { Database } from '../database.ts'

/** The maximum lengths of a reason and of its answer, in characters. */
export const REASON_LENGTH = 1000
export const APPEAL_LENGTH = 2000

export const NotSuspended = defineError('not_suspended', 409, 'This %s is not suspended; there is nothing to answer.')
export const AppealedAlready = defineError(
  'appealed_already',
  409,
  'This suspension has been answered already; wait until it is decided.',
)

/** The staff need a suspended or reported thing until they have decided. */
export const UnderReview = defineError(
  'under_review',
  409,
  'This %s is suspended or reported; it can be deleted for good once that is decided.',
)

/** What the owner reads while the cause is the account. */
const ACCOUNT_DISABLED = 'The account of its maker is disabled.'

/**
 * Why a thing is suspended: `staff`, `account` with the owner's account, or the id of the decision about reports that
 * suspended it. An undo of a decision applies only while the cause is that decision.
 */
export type SuspensionCause = 'staff' | 'account' | (string & {})

/** The columns of a thing that can be suspended. */
export interface SuspendableRow {
  id: string
  ownerId: string
  suspendedAt?: Date | null | undefined
  suspensionReason?: string | null | undefined
  suspensionCause?: SuspensionCause | null | undefined
  /** Whether the owner's account was disabled with everything; when another suspension is lifted, this one remains. */
  suspendedWithAccount?: boolean | null | undefined
  appeal?: string | null | undefined
}

type State = Pick<SuspendableRow, 'suspendedAt' | 'suspensionReason' | 'suspensionCause' | 'appeal'>
const STATE = ['suspendedAt', 'suspensionReason', 'suspensionCause', 'suspendedWithAccount', 'appeal'] as const

/** What a plugin says of the things that it lets be suspended. */
export interface Suspendables<Thing> {
  noun: 'game' | 'asset'
  entity: EntityName<SuspendableRow>
  /** @throws NotFound */
  get(idOrSlug: string): Promise<Thing & { id: string }>
  /** @throws NotFound when it is not the player's */
  mustOwn(playerId: string, idOrSlug: string): Promise<Thing & { id: string; suspended: unknown }>
  /** Notifies every node of a committed change. */
  announce(id: string): Promise<void>
  /** Returns the players who make the thing beside its owner. */
  makerIds?(em: SqlEntityManager, id: string): Promise<string[]>
  /** Notes a change where the owner sees it, in its transaction. */
  note?(
    em: SqlEntityManager,
    change: { id: string; did: 'suspend' | 'lift' | 'appeal'; reason: string | null },
  ): Promise<void>
}

/** Notifies every node of a committed change. */
type Announce = () => Promise<void>

/**
 * Refuses moderators who decide about something of their own.
 *
 * @param makerIds the owner and all others who make the thing
 * @throws Forbidden
 */
export function mustBeImpartial(by: Actor, makerIds: readonly string[]): void {
  if (by.role !== 'moderator' || !makerIds.includes(by.id)) return
  throw new Forbidden('This is yours. Another moderator or an administrator decides.')
}

/**
 * Suspends things independently of their owners' settings. It is the single place that changes
 * these columns.
 */
export class Suspensions<Thing> {
  readonly #parts: { db: Database; clock: Clock }
  readonly #things: Suspendables<Thing>
  /** What follows a suspension by hand, in its transaction. Plugins add theirs. */
  readonly followers: ((em: SqlEntityManager, suspended: { id: string; reason: string }) => Promise<unknown>)[] = []

  constructor(parts: { db: Database; clock: Clock }, things: Suspendables<Thing>) {
    this.#parts = parts
    this.#things = things
  }

  /**
   * Suspends a thing. A suspended one gets the new reason, and its owner may answer again.
   *
   * @param reason the text for its owner
   * @throws NotFound
   */
  async suspend(idOrSlug: string, reason: string, by = PROGRAM): Promise<Thing> {
    const { id } = await this.#things.get(idOrSlug)
    const announce = await this.#parts.db.transaction(async (em) => {
      const announce = await this.suspendIn(em, id, { reason, by })
      for (const follow of this.followers) await follow(em, { id, reason: textOf(reason) })
      return announce
    })
    await announce()
    return this.#things.get(id)
  }

  /**
   * Does the same in the caller's transaction, also for a deleted thing that can be restored.
   *
   * @returns a function that notifies every node; call it after the transaction
   * @throws NotFound; Forbidden when a moderator suspends something of their own
   */
  async suspendIn(
    em: SqlEntityManager,
    id: string,
    { reason, by, cause = 'staff' }: { reason: string; by: Actor; cause?: SuspensionCause },
  ): Promise<Announce> {
    const suspensionReason = textOf(reason)
    const row = await this.#read(em, id)
    await this.#mustBeImpartial(em, by, row)
    const suspendedAt = this.#parts.clock.now()
    return this.#set(em, row, { suspendedAt, suspensionReason, suspensionCause: cause, appeal: null }, by)
  }

  /** Lifts a suspension, whatever its cause. @throws NotFound; Forbidden when a moderator lifts one of their own */
  async lift(idOrSlug: string, by = PROGRAM): Promise<Thing> {
    const { id } = await this.#things.get(idOrSlug)
    const announce = await this.#parts.db.transaction(async (em) => {
      const row = await this.#read(em, id)
      await this.#mustBeImpartial(em, by, row)
      return this.#lift(em, row, by)
    })
    await announce()
    return this.#things.get(id)
  }

  /**
   * Lifts the suspension that a decision made, in the caller's transaction.
   *
   * @returns a function that notifies every node; null when the suspension has another cause by now, or was lifted
   * @throws NotFound; Forbidden when a moderator lifts one of their own
   */
  async undoIn(
    em: SqlEntityManager,
    id: string,
    { by, cause }: { by: Actor; cause: string },
  ): Promise<Announce | null> {
    const row = await this.#read(em, id)
    await this.#mustBeImpartial(em, by, row)
    return row.suspendedAt && row.suspensionCause === cause ? this.#lift(em, row, by) : null
  }

  /**
   * Returns the cause of a suspension, which stays so until the transaction ends; null when there is none.
   *
   * @throws NotFound
   */
  async causeIn(em: SqlEntityManager, id: string): Promise<SuspensionCause | null> {
    const { suspendedAt, suspensionCause } = await this.#read(em, id)
    return suspendedAt ? (suspensionCause ?? 'staff') : null
  }

  /**
   * Stores the owner's single answer to the reason.
   *
   * @throws NotFound when it is not the player's; NotSuspended; AppealedAlready
   */
  async appeal(playerId: string, idOrSlug: string, text: string): Promise<Thing> {
    const { noun, entity } = this.#things
    const { id, suspended } = await this.#things.mustOwn(playerId, idOrSlug)
    if (!suspended) throw new NotSuspended(noun)
    const appeal = text.trim().slice(0, APPEAL_LENGTH)
    const open = { id, ownerId: playerId, suspendedAt: { $ne: null }, appeal: null }
    await this.#parts.db.transaction(async (em) => {
      const rows = await em.nativeUpdate(entity, open, { appeal })
      if (rows === 0) throw new AppealedAlready()
      await this.#things.note?.(em, { id, did: 'appeal', reason: null })
    })
    await this.#things.announce(id)
    return this.#things.get(id)
  }

  /**
   * Suspends the things of a player whose account is disabled, or lifts these suspensions, in the caller's transaction.
   * Other suspensions stay.
   *
   * @returns a function that notifies every node; call it after the transaction
   */
  async followAccount(em: SqlEntityManager, ownerId: string, disabled: boolean): Promise<Announce> {
    const { entity } = this.#things
    const which = { ownerId, ...(disabled ? { suspendedAt: null } : { suspensionCause: 'account' }) }
    const rows = await em.find(entity, which, { fields: ['id'] })
    await em.nativeUpdate(entity, which, disabled ? this.#withAccount() : LIFTED)
    await em.nativeUpdate(entity, { ownerId }, { suspendedWithAccount: disabled })
    return async () => {
      for (const { id } of rows) await this.#things.announce(id)
    }
  }

  /**
   * Ends the suspension of a thing with the account of its owner, in the transaction that gives it another owner. Any
   * other suspension stays.
   *
   * @throws NotFound
   */
  async leaveAccountIn(em: SqlEntityManager, id: string): Promise<void> {
    const { entity } = this.#things
    const { suspensionCause } = await this.#read(em, id)
    const lifted = suspensionCause === 'account' ? LIFTED : {}
    await em.nativeUpdate(entity, { id }, { ...lifted, suspendedWithAccount: false })
  }

  /**
   * Writes the causes of suspensions that an earlier version stored without one: the reason was the only mark of those
   * that followed an account. Runs at the start.
   */
  async completeCauses(): Promise<void> {
    const { entity } = this.#things
    await this.#parts.db.transaction(async (em) => {
      const unknown = { suspendedAt: { $ne: null }, suspensionCause: null }
      const withAccount = { suspensionCause: 'account', suspendedWithAccount: true }
      await em.nativeUpdate(entity, { ...unknown, suspensionReason: ACCOUNT_DISABLED }, withAccount)
      await em.nativeUpdate(entity, unknown, { suspensionCause: 'staff' })
    })
  }

  /** @throws Forbidden when a moderator decides about something that they make */
  async #mustBeImpartial(em: SqlEntityManager, by: Actor, { id, ownerId }: SuspendableRow): Promise<void> {
    mustBeImpartial(by, [ownerId, ...((await this.#things.makerIds?.(em, id)) ?? [])])
  }

  #withAccount(): State {
    const suspendedAt = this.#parts.clock.now()
    return { suspendedAt, suspensionReason: ACCOUNT_DISABLED, suspensionCause: 'account', appeal: null }
  }

  async #read(em: SqlEntityManager, id: string): Promise<SuspendableRow> {
    const { entity, noun } = this.#things
    const row = await em.findOne(
      entity,
      { id },
      { fields: ['ownerId', ...STATE], lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true },
    )
    if (!row) throw new NotFound(noun)
    return row as SuspendableRow
  }

  /** What was suspended with the account before somebody suspended it for itself is so again. */
  #lift(em: SqlEntityManager, row: SuspendableRow, by: Actor): Promise<Announce> {
    const remains = row.suspendedWithAccount === true && row.suspensionCause !== 'account'
    return this.#set(em, row, remains ? this.#withAccount() : LIFTED, by, 'lift')
  }

  async #set(
    em: SqlEntityManager,
    before: SuspendableRow,
    changes: State,
    by: Actor,
    did: 'suspend' | 'lift' = 'suspend',
  ): Promise<Announce> {
    const { noun, entity } = this.#things
    const { id } = before
    const reason = changes.suspensionReason ?? null
    await em.nativeUpdate(entity, { id }, changes)
    await recordAction(em, this.#parts.clock, {
      by,
      action: `${noun}.${did}`,
      target: { kind: noun, id },
      reason,
      before: { suspended: before.suspensionReason ?? null, appeal: before.appeal ?? null },
      after: { suspended: reason },
    })
    await this.#things.note?.(em, { id, did, reason })
    return () => this.#things.announce(id)
  }
}

const textOf = (reason: string): string => reason.trim().slice(0, REASON_LENGTH)

const LIFTED = { suspendedAt: null, suspensionReason: null, suspensionCause: null, appeal: null } satisfies State
