import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Clock } from '../../core/clock.ts'
import { type Actor, PROGRAM, recordAction } from '../../core/data/audit.ts'
import type { Database } from '../../core/data/database.ts'
import { NotFound } from '../../core/errors.ts'
import { STAFF } from '../../core/observe/author.ts'
import { recordActivity } from './activity/record.ts'
import { GameRow } from './entities.ts'
import { AppealedAlready, NotSuspended } from './errors.ts'
import type { Game } from './schemas.ts'

/** The maximum lengths of a reason and of its answer, in characters. */
export const REASON_LENGTH = 1000
export const APPEAL_LENGTH = 2000

/** The reason of games that were suspended with their owner's account. They are restored with it. */
const ACCOUNT_DISABLED = 'The account of its maker is disabled.'

/** The part of `Games` that suspending needs. It avoids a cyclic dependency, because `Games` contains this. */
interface FoundGames {
  get(idOrSlug: string): Promise<Game>
  mustOwn(playerId: string, idOrSlug: string): Promise<Game>
  announce(game: Pick<Game, 'id' | 'slug'>): Promise<void>
}

type State = Pick<GameRow, 'suspendedAt' | 'suspensionReason' | 'appeal'>
const STATE = ['suspendedAt', 'suspensionReason', 'appeal'] as const
/** Notifies every node of a committed change. */
type Announce = () => Promise<void>

interface SuspensionParts {
  db: Database
  clock: Clock
}

/**
 * Suspends games independently of their owners' settings (contracts, section 19). Their origins, domains, previews and
 * pages answer 451, rooms end, no list contains them, and players can't sign in to them. All checks use the cached
 * game, which `game.changed` invalidates.
 */
export class Suspensions {
  readonly #parts: SuspensionParts
  readonly #games: FoundGames

  constructor(parts: SuspensionParts, games: FoundGames) {
    this.#parts = parts
    this.#games = games
  }

  /**
   * Suspends a game. A suspended game gets the new reason, and its owner may answer again.
   *
   * @param reason the text for its owner
   * @throws NotFound
   */
  async suspend(idOrSlug: string, reason: string, by = PROGRAM): Promise<Game> {
    const { id } = await this.#games.get(idOrSlug)
    await (await this.#parts.db.transaction((em) => this.suspendIn(em, id, { reason, by })))()
    return this.#games.get(id)
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

  /** Lifts a suspension. A game that is not suspended stays unchanged. @throws NotFound */
  async lift(idOrSlug: string, by = PROGRAM): Promise<Game> {
    const { id } = await this.#games.get(idOrSlug)
    await (await this.#parts.db.transaction((em) => this.liftIn(em, id, by)))()
    return this.#games.get(id)
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
   * @throws NotFound when the game is not the player's; NotSuspended; AppealedAlready
   */
  async appeal(playerId: string, idOrSlug: string, text: string): Promise<Game> {
    const { id, suspended } = await this.#games.mustOwn(playerId, idOrSlug)
    if (!suspended) throw new NotSuspended()
    const appeal = text.trim().slice(0, APPEAL_LENGTH)
    const open = { id, ownerId: playerId, suspendedAt: { $ne: null }, appeal: null }
    const { db, clock } = this.#parts
    await db.transaction(async (em) => {
      const rows = await em.nativeUpdate(GameRow, open, { appeal })
      if (rows === 0) throw new AppealedAlready()
      await recordActivity(em, clock, { gameId: id, action: 'game.appeal' })
    })
    return this.#announced(id)
  }

  /**
   * Suspends the games of a player whose account is disabled, or lifts these suspensions, in the caller's transaction.
   *
   * @returns a function that notifies every node; call it after the transaction
   */
  async followAccount(em: SqlEntityManager, ownerId: string, disabled: boolean): Promise<() => Promise<void>> {
    const which = disabled ? { suspendedAt: null } : { suspensionReason: ACCOUNT_DISABLED }
    const rows = await em.find(GameRow, { ownerId, ...which }, { fields: ['id', 'slug'] })
    const changes = disabled
      ? { suspendedAt: this.#parts.clock.now(), suspensionReason: ACCOUNT_DISABLED, appeal: null }
      : { suspendedAt: null, suspensionReason: null, appeal: null }
    await em.nativeUpdate(GameRow, { ownerId, ...which }, changes)
    return async () => {
      for (const { id, slug } of rows) await this.#games.announce({ id, slug })
    }
  }

  async #set(em: SqlEntityManager, id: string, changes: State, by: Actor): Promise<Announce> {
    const before = await em.findOne(GameRow, { id, deletedAt: null }, { fields: ['slug', ...STATE] })
    if (!before) throw new NotFound('game')
    await em.nativeUpdate(GameRow, { id }, changes)
    await recordAction(em, this.#parts.clock, {
      by,
      action: changes.suspendedAt ? 'game.suspend' : 'game.lift',
      target: { kind: 'game', id },
      reason: changes.suspensionReason ?? null,
      before: { suspended: before.suspensionReason ?? null, appeal: before.appeal ?? null },
      after: { suspended: changes.suspensionReason ?? null },
    })
    const action = changes.suspendedAt ? 'game.suspend' : 'game.lift'
    await recordActivity(em, this.#parts.clock, { gameId: id, action, detail: changes.suspensionReason ?? null }, STAFF)
    return () => this.#games.announce({ id, slug: before.slug })
  }

  async #announced(id: string): Promise<Game> {
    const game = await this.#games.get(id)
    await this.#games.announce(game)
    return game
  }
}
