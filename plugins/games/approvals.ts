import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Clock } from '../../core/clock.ts'
import { type Actor, PROGRAM, recordAction } from '../../core/data/audit.ts'
import type { Database } from '../../core/data/database.ts'
import { mustBeImpartial } from '../../core/data/staff/suspensions.ts'
import { NotFound } from '../../core/errors.ts'
import { STAFF } from '../../core/observe/author.ts'
import type { Origins } from '../../core/origins/origins.ts'
import type { Players } from '../oauth-idp/index.ts'
import { recordActivity } from './activity/record.ts'
import { GameRow } from './entities.ts'
import { NotWaiting, SuspendedMeanwhile } from './errors.ts'
import { makerIdsOf, testersAmong } from './members/members.ts'
import { readGames } from './read-games.ts'
import type { Game } from './schemas.ts'

/** Who may publish games (`games.publish`). */
export type PublishMode = 'open' | 'approve' | 'trusted'

/** The maximum length of a reason, in characters. */
export const REFUSAL_LENGTH = 1000

/** The maximum number of games that the page of one state lists. */
export const LISTED = 100
/** The maximum number of games that are refused at once. */
const REFUSED_TOGETHER = 1000

interface ApprovalParts {
  db: Database
  clock: Clock
  origins: Origins
  mode: PublishMode
  players: Pick<Players, 'mayPublish'>
  /** Enqueues a mail to a player in the transaction. A shell command sends none. */
  tell?: (em: SqlEntityManager, playerId: string, subject: string, text: string) => Promise<void>
}

/** Notifies every node of a committed change. */
type Announce = (game: Pick<Game, 'id' | 'slug'>) => Promise<void>

type Held = Pick<
  GameRow,
  'id' | 'slug' | 'title' | 'ownerId' | 'approval' | 'approvalReason' | 'requestedVisibility' | 'suspendedAt'
>
const HELD = ['slug', 'title', 'ownerId', 'approval', 'approvalReason', 'requestedVisibility', 'suspendedAt'] as const

/**
 * Holds games until staff approve them (`games.publish`). A held game is stored as a private game, with the visibility
 * that its owner wants beside it. Therefore everything that respects private games respects held ones, without a further
 * check: lists, files, rooms, previews, cards and media. Its only invited players are the staff who review it.
 */
export class Approvals {
  readonly #parts: ApprovalParts
  readonly #announce: Announce

  constructor(parts: ApprovalParts, announce: Announce) {
    this.#parts = parts
    this.#announce = announce
  }

  get mode(): PublishMode {
    return this.#parts.mode
  }

  /**
   * Whether a new game of a player waits for staff. The caller's transaction holds the player's quota account, so that
   * of two games made at once both wait.
   */
  async holds(em: SqlEntityManager, ownerId: string): Promise<boolean> {
    const { mode, players } = this.#parts
    if (mode === 'open' || (await players.mayPublish(em, ownerId))) return false
    if (mode === 'trusted') return true
    return (await em.count(GameRow, { ownerId, approval: null, deletedAt: null })) === 0
  }

  /** Returns the oldest waiting games, or the newest refused ones: `LISTED` at most, and none that are suspended. */
  list(state: 'waiting' | 'refused'): Promise<Game[]> {
    const order = state === 'waiting' ? 'g.id' : 'g.id desc'
    const where = 'g.approval = ? and g.suspended_at is null'
    return readGames(this.#parts, { where, order, values: [state], limit: LISTED })
  }

  /** Returns the number of waiting games by their owner. Suspended games, as those of disabled accounts, do not count. */
  async waiting(): Promise<Map<string, number>> {
    const rows = await this.#parts.db.query<{ owner_id: string; games: number }>(
      `select owner_id, count(*) as games from games
       where approval = 'waiting' and deleted_at is null and suspended_at is null group by owner_id`,
    )
    return new Map(rows.map(({ owner_id, games }) => [owner_id, Number(games)]))
  }

  /**
   * Lets a member of the staff open a held game, until the decision.
   *
   * @throws NotFound; NotWaiting when the game is not held
   */
  async review(id: string, by: Actor): Promise<Pick<Game, 'id' | 'slug'>> {
    const game = await this.#parts.db.transaction(async (em) => {
      const game = await this.#find(em, id)
      const { invited } = await em.findOneOrFail(GameRow, { id }, { fields: ['invited'] })
      await em.nativeUpdate(GameRow, { id }, { invited: [...new Set([...invited, by.id])] })
      await recordAction(em, this.#parts.clock, { by, action: 'game.review', target: { kind: 'game', id } })
      return game
    })
    await this.#announce(game)
    return game
  }

  /**
   * Publishes a held game with the visibility that its owner wants, and tells the owner.
   *
   * @throws NotFound; NotWaiting when the game is not held; SuspendedMeanwhile; Forbidden when a moderator approves a game
   *   of their own
   */
  async approve(id: string, by = PROGRAM): Promise<void> {
    const game = await this.#parts.db.transaction(async (em) => {
      const game = await this.#find(em, id)
      mustBeImpartial(by, [game.ownerId, ...(await makerIdsOf(em, id))])
      if (game.suspendedAt) throw new SuspendedMeanwhile()
      await this.#publish(em, game, by)
      await this.#parts.tell?.(
        em,
        game.ownerId,
        `${game.title} is published`,
        `Hello,\n\nyour game ${game.title} was approved. It is here:\n\n${this.#pageOf(game)}\n`,
      )
      return game
    })
    await this.#announce(game)
  }

  /**
   * Refuses a held game, and tells the owner why. It goes on working for its owner, and may be approved later.
   *
   * @param reason the text for its owner
   * @throws NotFound; NotWaiting when the game is not held
   */
  async refuse(id: string, reason: string, by = PROGRAM): Promise<void> {
    const approvalReason = reason.trim().slice(0, REFUSAL_LENGTH)
    const game = await this.#parts.db.transaction(async (em) => {
      const game = await this.#find(em, id)
      await this.#refuse(em, game, { approvalReason, by })
      await this.#parts.tell?.(
        em,
        game.ownerId,
        `${game.title} was not published`,
        `Hello,\n\nyour game ${game.title} was not approved:\n\n${approvalReason}\n\nYou can still open it yourself:\n\n${this.#pageOf(game)}/overview\n`,
      )
      return game
    })
    await this.#announce(game)
  }

  /**
   * Refuses a held game and all other waiting games of its owner, 1,000 at most, and tells the owner in one mail.
   *
   * @param reason the text for the owner
   * @returns how many were refused
   * @throws NotFound; NotWaiting when the game is not held
   */
  async refuseWithOthers(id: string, reason: string, by = PROGRAM): Promise<number> {
    const approvalReason = reason.trim().slice(0, REFUSAL_LENGTH)
    const games = await this.#parts.db.transaction(async (em) => {
      const { ownerId } = await this.#find(em, id)
      const mine = { ownerId, approval: 'waiting', deletedAt: null } as const
      // The write locks the rows before the read, as in `#find`.
      await em.nativeUpdate(GameRow, mine, { updatedAt: this.#parts.clock.now() })
      const games = await em.find(GameRow, mine, { fields: HELD, orderBy: { id: 'asc' }, limit: REFUSED_TOGETHER })
      for (const game of games) await this.#refuse(em, game, { approvalReason, by })
      const titles = games.map(({ title }) => `- ${title}`).join('\n')
      if (games.length > 0)
        await this.#parts.tell?.(
          em,
          ownerId,
          games.length === 1 ? 'A game was not published' : `${games.length} games were not published`,
          `Hello,\n\nthese games of yours were not approved:\n\n${titles}\n\n${approvalReason}\n\nYou can still open them yourself:\n\n${this.#parts.origins.portal}/games\n`,
        )
      return games
    })
    for (const game of games) await this.#announce(game)
    return games.length
  }

  /**
   * Publishes all waiting games of a player who is trusted from now on, in the caller's transaction. Refused ones stay
   * refused.
   *
   * @returns a function that notifies every node; call it after the transaction
   */
  async publishAllOf(em: SqlEntityManager, ownerId: string, by: Actor): Promise<() => Promise<void>> {
    const games = await em.find(GameRow, { ownerId, approval: 'waiting', deletedAt: null }, { fields: HELD })
    for (const game of games) await this.#publish(em, game, by)
    return async () => {
      for (const game of games) await this.#announce(game)
    }
  }

  /** Returns the players who may see a game when the review of the staff has ended: its testers. */
  async #withoutReviewers(em: SqlEntityManager, id: string): Promise<string[]> {
    const { invited } = await em.findOneOrFail(GameRow, { id }, { fields: ['invited'] })
    return testersAmong(em, id, invited)
  }

  async #refuse(
    em: SqlEntityManager,
    game: Held,
    { approvalReason, by }: { approvalReason: string; by: Actor },
  ): Promise<void> {
    const { id } = game
    const invited = await this.#withoutReviewers(em, id)
    await em.nativeUpdate(GameRow, { id }, { approval: 'refused', approvalReason, invited })
    await recordAction(em, this.#parts.clock, {
      by,
      action: 'game.refuse',
      target: { kind: 'game', id },
      reason: approvalReason,
      before: stateOf(game),
      after: { approval: 'refused' },
    })
    const refused = { gameId: id, action: 'game.refuse', detail: approvalReason } as const
    await recordActivity(em, this.#parts.clock, refused, STAFF)
  }

  async #publish(em: SqlEntityManager, game: Held, by: Actor): Promise<void> {
    const { id, requestedVisibility } = game
    const visibility = requestedVisibility ?? 'public'
    const invited = await this.#withoutReviewers(em, id)
    await em.nativeUpdate(
      GameRow,
      { id },
      { visibility, approval: null, approvalReason: null, requestedVisibility: null, invited },
    )
    await recordAction(em, this.#parts.clock, {
      by,
      action: 'game.approve',
      target: { kind: 'game', id },
      before: stateOf(game),
      after: { approval: null, visibility },
    })
    await recordActivity(em, this.#parts.clock, { gameId: id, action: 'game.approve' }, STAFF)
  }

  /** Finds a held game, whose row the transaction then holds. */
  async #find(em: SqlEntityManager, id: string): Promise<Held> {
    // The write locks the row before the read, so that of two decisions at once the second sees the first.
    await em.nativeUpdate(GameRow, { id, approval: { $ne: null } }, { updatedAt: this.#parts.clock.now() })
    const game = await em.findOne(GameRow, { id, deletedAt: null }, { fields: HELD })
    if (!game) throw new NotFound('game')
    if (!game.approval) throw new NotWaiting()
    return game
  }

  #pageOf({ slug }: Pick<Game, 'slug'>): string {
    return `${this.#parts.origins.portal}/games/${slug}`
  }
}

const stateOf = ({ approval, approvalReason }: Held) => ({
  approval: approval ?? null,
  reason: approvalReason ?? null,
})
