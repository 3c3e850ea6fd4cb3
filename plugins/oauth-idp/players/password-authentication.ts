import { createHash } from 'node:crypto'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Clock } from '../../../core/clock.ts'
import { PROGRAM, recordAction } from '../../../core/data/audit.ts'
import type { Database } from '../../../core/data/database.ts'
import { NotFound } from '../../../core/errors.ts'
import type { Events } from '../../../core/events.ts'
import type { RateLimiter } from '../../../core/http/rate-limit.ts'
import { InvalidCredentials } from '../errors.ts'
import { requireRecentSignIn } from '../sessions/recent-sign-in.ts'
import { disabledError } from './disabled-account.ts'
import { PlayerRow } from './entities.ts'
import { acceptedPassword, type PasswordHasher } from './passwords.ts'
import type { Known, Players } from './players.ts'
import { addressOrNothing, fieldError, normaliseEmail } from './profile.ts'
import type { Player } from './schemas.ts'

interface PasswordContext {
  db: Database
  contact: string | null
  clock: Clock
  events: Events
  rateLimiter: RateLimiter
  players: Players
  hasher: PasswordHasher
  passwordMinLength: number
  signInAttemptsPerMinute: number
}

export interface PasswordChange {
  playerId: string
  sessionId: string
  /** The current password; empty for an account without one. */
  current: string
  next: string
  /** The caller's address, for rate limits. */
  address: string
}

/** Signs players in by email address and password, and sets passwords. */
export class PasswordAuthentication {
  readonly #context: PasswordContext

  constructor(context: PasswordContext) {
    this.#context = context
  }

  /**
   * Finds the account of an email address and password. The answer, and the time it takes, are the same whether there
   * is no such account or the password is wrong. Only the right password learns that the account is disabled.
   *
   * @param address of the caller: attempts are counted by account and address
   * @returns the player, with the `epoch` read together with the password: later steps are valid only for that epoch
   * @throws InvalidCredentials, AccountDisabled, RateLimited
   */
  async authenticate({ email, password }: { email: string; password: string }, address: string): Promise<Known> {
    const { db, players, hasher, rateLimiter, signInAttemptsPerMinute } = this.#context
    const account = email.normalize('NFC').trim().toLowerCase()
    const key = createHash('sha256').update(account).digest('base64url')
    await rateLimiter.take(`sign-in/${key}/${address}`, signInAttemptsPerMinute, 60_000)

    const row = await db.em().findOne(PlayerRow, { email: addressOrNothing(email) })
    const matches = await hasher.verify(password, row?.passwordHash ?? null, address)
    if (!row || !matches) throw new InvalidCredentials()
    if (row.disabled) throw await disabledError(this.#context, row.id)
    await this.#rehash(row, password, address)
    return { player: players.describe(row), epoch: row.epoch }
  }

  /** Replaces a hash whose cost differs from the configured one, while the password is known. */
  async #rehash({ id, passwordHash }: PlayerRow, password: string, address: string): Promise<void> {
    const { db, hasher } = this.#context
    if (!passwordHash || !hasher.isOutdated(passwordHash)) return
    // The condition preserves a password that was changed concurrently.
    const renewed = await hasher.hash(password, address)
    await db.em().nativeUpdate(PlayerRow, { id, passwordHash }, { passwordHash: renewed })
  }

  /** Whether an account has a password. Some accounts use only other sign-in methods. */
  async has(playerId: string): Promise<boolean> {
    const row = await this.#context.db.em().findOne(PlayerRow, { id: playerId }, { fields: ['passwordHash'] })
    return Boolean(row?.passwordHash)
  }

  /**
   * Changes the password of a signed-in player. It requires the current password; an account without one requires a
   * recent sign-in instead.
   *
   * @returns the new epoch
   * @throws Forbidden when a recent sign-in is required; InvalidCredentials when `current` is wrong, or was changed
   *   concurrently; RateLimited; InvalidRequest when `next` is not acceptable
   */
  async change({ playerId, sessionId, current, next, address }: PasswordChange): Promise<number> {
    const { db, players } = this.#context
    const row = await db.em().findOne(PlayerRow, { id: playerId })
    if (!row?.email) throw new NotFound('player')
    if (!row.passwordHash) await requireRecentSignIn(this.#context, sessionId)
    const { epoch } = row.passwordHash ? await this.authenticate({ email: row.email, password: current }, address) : row
    await this.#set(players.describe(row), next, epoch)
    return epoch + 1
  }

  /**
   * Confirms an irreversible action: by the password, or by the name where an account has no password.
   *
   * @throws InvalidCredentials, InvalidRequest, RateLimited, NotFound
   */
  async confirm(playerId: string, given: { password: string; name: string; address: string }): Promise<void> {
    const row = await this.#context.db.em().findOne(PlayerRow, { id: playerId })
    if (!row) throw new NotFound('player')
    if (row.passwordHash && row.email) {
      await this.authenticate({ email: row.email, password: given.password }, given.address)
    } else if (given.name.normalize('NFC').trim() !== row.name) {
      throw fieldError('confirm', 'This is not your name.')
    }
  }

  /**
   * Sets a password without the old one, for the server's administrator.
   *
   * @param also runs in the same transaction
   * @throws NotFound, InvalidRequest
   */
  async reset(
    email: string,
    password: string,
    by = PROGRAM,
    also?: (em: SqlEntityManager, playerId: string) => Promise<void>,
  ): Promise<Player> {
    const { db, players } = this.#context
    const row = await db.em().findOne(PlayerRow, { email: normaliseEmail(email) })
    if (!row) throw new NotFound('player')
    const player = players.describe(row)
    const { clock } = this.#context
    const target = { kind: 'player', id: player.id } as const
    await this.#set(player, password, undefined, async (em) => {
      await recordAction(em, clock, { by, action: 'player.password', target })
      await also?.(em, player.id)
    })
    return player
  }

  /** Sessions, authorization codes and access tokens end with the old password. */
  async #set(
    player: Player,
    password: string,
    epoch?: number,
    also?: (em: SqlEntityManager) => Promise<void>,
  ): Promise<void> {
    const { db, events } = this.#context
    const passwordHash = await this.hash(password, player)
    await db.transaction(async (em) => {
      await this.replace(em, player.id, passwordHash, epoch)
      await also?.(em)
    })
    await events.emit('player.changed', { playerId: player.id })
  }

  /** Checks a new password and hashes it. @throws InvalidRequest when it is not acceptable */
  async hash(password: string, player: Player): Promise<string> {
    const { hasher, passwordMinLength: minLength } = this.#context
    return hasher.hash(acceptedPassword(password, { minLength, player }), player.id)
  }

  /**
   * Replaces a password in the caller's transaction; the caller then emits `player.changed`.
   *
   * @param epoch the epoch at which the old password was checked: of a concurrent change and reset, the second does not
   *   undo the first
   * @throws InvalidCredentials when the account has another epoch by now
   */
  async replace(em: SqlEntityManager, playerId: string, passwordHash: string, epoch?: number): Promise<void> {
    const where = epoch === undefined ? { id: playerId } : { id: playerId, epoch }
    const rows = await em.nativeUpdate(PlayerRow, where, { passwordHash })
    if (rows === 0) throw new InvalidCredentials()
    await this.#context.players.endAccess(em, playerId)
  }
}
