import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import { deleteInBatches, type Statements } from '../../../core/data/database.ts'
import { AiAllowance, AiAllowanceUse } from '../entities.ts'
import { AiNotAllowed, DailyLimitReached, GuestCannotSpend } from '../errors.ts'

const DAY_MS = 86_400_000

/** What a player allows a game, and its use on the current day (UTC). */
export interface Allowance {
  gameId: string
  creditsPerDay: number
  /** The credits that are spent or reserved today. */
  used: number
  createdAt: Date
}

/** A generation for a page of a hosted game, before it begins. */
export interface NewUse {
  /** The generation. */
  id: string
  playerId: string
  gameId: string
  /** The highest price in credits. */
  credits: number
  /** The time by which the generation has ended, or its process has died. */
  expiresAt: Date
}

interface AllowanceRow {
  game_id: string
  credits_per_day: number
  used: number | null
  created_at: number | string
}

/**
 * The consents of players to the use of AI in hosted games, each with a limit of credits a day. A generation reserves
 * its highest price in the transaction that holds the credits, so that concurrent ones can't exceed the limit together.
 */
export class Allowances {
  readonly #parts: Pick<FastifyInstance, 'db' | 'clock' | 'identity' | 'origins'>

  constructor(parts: Pick<FastifyInstance, 'db' | 'clock' | 'identity' | 'origins'>) {
    this.#parts = parts
  }

  /** The page on which a player allows a game to use AI. */
  urlOf(gameId: string): string {
    return `${this.#parts.origins.portal}/settings/ai/${gameId}`
  }

  /** Returns what a player allows a game; null for nothing. */
  async find(playerId: string, gameId: string): Promise<Allowance | null> {
    const [row] = await this.#read(this.#parts.db, playerId, gameId)
    return row ?? null
  }

  /** Lists what a player allows, by game. */
  list(playerId: string): Promise<Allowance[]> {
    return this.#read(this.#parts.db, playerId)
  }

  /**
   * Refuses a game that may spend nothing of a player. It comes before all that depends on the player's balance.
   *
   * @throws AiNotAllowed with `allowUrl`
   * @throws GuestCannotSpend with `accountUrl`
   */
  async mustAllow(playerId: string, gameId: string): Promise<void> {
    if (await this.find(playerId, gameId)) return
    await this.refuseGuest(playerId)
    throw new AiNotAllowed().with({ body: { allowUrl: this.urlOf(gameId) } })
  }

  /** @throws GuestCannotSpend with `accountUrl` */
  async refuseGuest(playerId: string): Promise<void> {
    if (!(await this.isGuest(playerId))) return
    throw new GuestCannotSpend().with({ body: { accountUrl: `${this.#parts.origins.portal}/settings` } })
  }

  async isGuest(playerId: string): Promise<boolean> {
    return (await this.#parts.identity.players.find(playerId))?.isGuest === true
  }

  /** Allows a game a number of credits a day, or changes the number. @throws GuestCannotSpend */
  async allow(playerId: string, gameId: string, creditsPerDay: number): Promise<void> {
    await this.refuseGuest(playerId)
    await this.#parts.db.groupCommit((statements) =>
      statements.execute(
        `insert into ai_allowances (player_id, game_id, credits_per_day, created_at) values (?, ?, ?, ?)
         on conflict (player_id, game_id) do update set credits_per_day = excluded.credits_per_day`,
        [playerId, gameId, creditsPerDay, this.#parts.clock.now()],
      ),
    )
  }

  /** Ends what a player allows a game. Today's use stays, so that allowing again does not renew the limit. */
  async revoke(playerId: string, gameId: string): Promise<void> {
    await this.#parts.db.groupCommit((statements) =>
      statements.execute('delete from ai_allowances where player_id = ? and game_id = ?', [playerId, gameId]),
    )
  }

  /**
   * Reserves the highest price of a generation, in the transaction that holds it. The held account's row is locked by
   * then, so generations of one player follow one another.
   *
   * @throws AiNotAllowed when the player has revoked it in the meantime
   * @throws DailyLimitReached with `limit`, `used`, `resetsAt` and `allowUrl`
   */
  async reserve(statements: Statements, { id, playerId, gameId, credits, expiresAt }: NewUse): Promise<void> {
    const [allowance] = await this.#read(statements, playerId, gameId)
    const allowUrl = this.urlOf(gameId)
    if (!allowance) throw new AiNotAllowed().with({ body: { allowUrl } })
    const { creditsPerDay: limit, used } = allowance
    if (used + credits > limit) {
      const body = { limit, used, resetsAt: this.#nextDay().toISOString(), allowUrl }
      throw new DailyLimitReached(credits, limit, used).with({ body })
    }
    await statements.execute(
      'insert into ai_allowance_uses (id, player_id, game_id, date, credits, expires_at) values (?, ?, ?, ?, ?, ?)',
      [id, playerId, gameId, this.#today(), credits, expiresAt],
    )
  }

  /** Replaces the reserved price by the actual one, in the transaction that charges it. */
  async settle(statements: Statements, id: string, credits: number): Promise<void> {
    await statements.execute('update ai_allowance_uses set credits = ?, expires_at = ? where id = ?', [
      credits,
      null,
      id,
    ])
  }

  /** Forgets a generation that was not charged. */
  async release(id: string): Promise<void> {
    await this.#parts.db.groupCommit((statements) =>
      statements.execute('delete from ai_allowance_uses where id = ? and expires_at is not null', [id]),
    )
  }

  /** Removes all of a player in the transaction that ends the account. */
  async forgetPlayer(em: SqlEntityManager, playerId: string): Promise<void> {
    await em.nativeDelete(AiAllowance, { playerId })
    await em.nativeDelete(AiAllowanceUse, { playerId })
  }

  /** Removes all of a game in the transaction that deletes it for good. */
  async forgetGame(em: SqlEntityManager, gameId: string): Promise<void> {
    await em.nativeDelete(AiAllowance, { gameId })
    await em.nativeDelete(AiAllowanceUse, { gameId })
  }

  /** Deletes the uses of days before yesterday. Open generations of yesterday may still end. */
  async sweep(signal: AbortSignal): Promise<void> {
    const yesterday = new Date(this.#parts.clock.now().getTime() - DAY_MS).toISOString().slice(0, 10)
    const old = { table: 'ai_allowance_uses', key: ['id'], where: 'date < ?', parameters: [yesterday] }
    await deleteInBatches(this.#parts.db, old, signal)
  }

  async #read(statements: Pick<Statements, 'query'>, playerId: string, gameId?: string): Promise<Allowance[]> {
    const rows = await statements.query<AllowanceRow>(
      `select a.game_id, a.credits_per_day, a.created_at,
         (select sum(u.credits) from ai_allowance_uses u
          where u.player_id = a.player_id and u.game_id = a.game_id and u.date = ?
            and (u.expires_at is null or u.expires_at > ?)) as used
       from ai_allowances a where a.player_id = ? ${gameId === undefined ? '' : 'and a.game_id = ?'} order by a.game_id`,
      [this.#today(), this.#parts.clock.now(), playerId, ...(gameId === undefined ? [] : [gameId])],
    )
    return rows.map((row) => ({
      gameId: row.game_id,
      creditsPerDay: row.credits_per_day,
      used: Number(row.used ?? 0),
      createdAt: new Date(row.created_at),
    }))
  }

  #today(): string {
    return this.#parts.clock.now().toISOString().slice(0, 10)
  }

  #nextDay(): Date {
    return new Date(Date.parse(this.#today()) + DAY_MS)
  }
}
