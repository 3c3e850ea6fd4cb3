import { createHash } from 'node:crypto'
import { raw, UniqueConstraintViolationException } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Clock } from '../../../core/clock.ts'
import type { Database } from '../../../core/database.ts'
import { NotFound } from '../../../core/errors.ts'
import type { Events } from '../../../core/events.ts'
import { newId } from '../../../core/ids.ts'
import type { RateLimiter } from '../../../core/rate-limit.ts'
import { ShortCache } from '../../../core/short-cache.ts'
import { EmailTaken, InvalidCredentials } from '../errors.ts'
import { endGrants } from '../oauth/grants.ts'
import { Session } from '../sessions/entities.ts'
import { mustBeFresh } from '../sessions/freshness.ts'
import { PlayerRow } from './entities.ts'
import { hashPassword, passwordTrouble, verifyPassword } from './passwords.ts'
import { avatarPath, fieldError, normaliseEmail, normaliseName, readFields } from './profile.ts'
import type { Player } from './schemas.ts'

declare module '../../../core/events.ts' {
  interface DomainEvents {
    /** Name, picture, rights or standing of a player changed, or they were signed out everywhere. */
    'player.changed': { playerId: string }
    /** A player is gone, with all that this plugin knew of them. */
    'player.deleted': { playerId: string }
  }
}

/** Whether what was given to a player some time ago still holds. */
export interface Standing {
  disabled: boolean
  /** Grows when the player is signed out everywhere: what was signed under a smaller one is void. */
  epoch: number
}

/** Who has shown who they are, and the epoch at that moment. */
export interface Known {
  player: Player
  epoch: number
}

export interface PasswordChange {
  playerId: string
  sessionId: string
  /** The password so far; nothing for who has none. */
  current: string
  next: string
  /** Of the caller, for rate limits. */
  address: string
}

export interface NewPlayer {
  email: string
  password: string
  name: string
}

/** A new account, before it is written. */
export type NewRow = Pick<
  PlayerRow,
  | 'id'
  | 'email'
  | 'emailVerified'
  | 'name'
  | 'avatar'
  | 'passwordHash'
  | 'guest'
  | 'isAdmin'
  | 'disabled'
  | 'epoch'
  | 'createdAt'
>

interface PlayersContext {
  db: Database
  clock: Clock
  events: Events
  rateLimiter: RateLimiter
  portalUrl: string
  signUp: 'open' | 'invite' | 'closed'
  passwordMinLength: number
  signInAttemptsPerMinute: number
}

/** The people with an account, and their passwords. */
export class Players {
  readonly #context: PlayersContext
  readonly #standings: ShortCache<Standing>

  constructor(context: PlayersContext) {
    this.#context = context
    this.#standings = new ShortCache(context.clock)
    context.events.on('player.changed', ({ playerId }) => this.#standings.drop(playerId))
    context.events.on('player.deleted', ({ playerId }) => this.#standings.drop(playerId))
  }

  /** Whether strangers can make accounts. */
  get signUpIsOpen(): boolean {
    return this.#context.signUp === 'open'
  }

  async find(id: string): Promise<(Player & Standing) | null> {
    const row = await this.#context.db.em().findOne(PlayerRow, { id })
    return row && { ...this.describe(row), disabled: row.disabled, epoch: row.epoch }
  }

  /** The names of these players, by id. */
  async namesOf(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (ids.length === 0) return new Map()
    const rows = await this.#context.db.query<{ id: string; name: string }>(
      `select id, name from players where id in (${ids.map(() => '?').join(', ')})`,
      ids,
    )
    return new Map(rows.map(({ id, name }) => [id, name]))
  }

  /** The account of an email address, or null. */
  async findByEmail(email: string): Promise<(Player & Standing) | null> {
    const row = await this.#context.db.em().findOne(PlayerRow, { email: addressOrNothing(email) })
    return row && { ...this.describe(row), disabled: row.disabled, epoch: row.epoch }
  }

  /** A player's row as others see it. */
  describe(row: PlayerRow | NewRow): Player {
    return {
      id: row.id,
      email: row.email ?? null,
      emailVerified: row.emailVerified,
      name: row.name,
      imageUrl: this.#context.portalUrl + avatarPath(row.id, row.avatar ?? null),
      isGuest: row.guest,
      isAdmin: row.isAdmin,
      createdAt: row.createdAt.toISOString(),
    }
  }

  /** The same as `standing`, at once, where it is remembered; else undefined. */
  standingNow(id: string): Standing | undefined {
    return this.#standings.peek(id)
  }

  /** For every request that bears something signed earlier; null when there is no such player (any more). */
  standing(id: string): Promise<Standing | null> {
    return this.#standings.get(id, async () => {
      const [row] = await this.#context.db.query<{ disabled: number; epoch: number }>(
        'select disabled, epoch from players where id = ?',
        [id],
      )
      return row ? { disabled: Boolean(row.disabled), epoch: row.epoch } : null
    })
  }

  /**
   * Makes an account.
   *
   * @throws InvalidRequest when a field can't be taken, with `details` naming it
   * @throws EmailTaken
   */
  async create(fields: NewPlayer & { isAdmin?: boolean }): Promise<Player> {
    const row = await this.prepare(fields)
    return this.insert(this.#context.db.em(), row)
  }

  /** The same for an administrator, whether or not sign-up is open. */
  createAdmin(fields: NewPlayer): Promise<Player> {
    return this.create({ ...fields, isAdmin: true })
  }

  /** Checks the fields of a new account and hashes its password; slow, so that it happens outside of transactions. */
  async prepare({ email, password, name, isAdmin = false }: NewPlayer & { isAdmin?: boolean }): Promise<NewRow> {
    const { password: accepted, ...account } = readFields<{ email: string; name: string; password: string }>({
      email: () => normaliseEmail(email),
      name: () => normaliseName(name),
      password: (read) => this.#acceptedPassword(password, { email: read.email ?? null, name: read.name ?? '' }),
    })
    const createdAt = this.#context.clock.now()
    return {
      id: newId('ply', createdAt),
      ...account,
      emailVerified: false,
      avatar: null,
      passwordHash: await hashPassword(accepted),
      guest: false,
      isAdmin,
      disabled: false,
      epoch: 0,
      createdAt,
    }
  }

  /** Writes what `prepare` made. @throws EmailTaken */
  async insert(em: SqlEntityManager, row: NewRow): Promise<Player> {
    try {
      await em.insert(PlayerRow, row)
    } catch (error) {
      if (error instanceof UniqueConstraintViolationException) {
        throw emailTaken()
      }
      throw error
    }
    return this.describe(row)
  }

  /**
   * Changes a row, its email address too; where `condition` does not hold there is no such player.
   *
   * @throws EmailTaken, NotFound
   */
  async updateUnique(
    em: SqlEntityManager,
    id: string,
    changes: Partial<Omit<NewRow, 'id' | 'createdAt'>>,
    condition: Partial<NewRow> = {},
  ): Promise<void> {
    try {
      const rows = await em.nativeUpdate(PlayerRow, { ...condition, id }, changes)
      if (rows === 0) throw new NotFound('player')
    } catch (error) {
      throw error instanceof UniqueConstraintViolationException ? emailTaken() : error
    }
  }

  /**
   * Who has this email address and password. The answer, and the time it takes, are the same whether there is no such
   * account, the password is wrong or the account is disabled.
   *
   * @param address of the caller: attempts are counted by account and address
   * @returns with the `epoch` that was read with the password: what is begun by it counts only while that holds
   * @throws InvalidCredentials, RateLimited
   */
  async authenticate({ email, password }: { email: string; password: string }, address: string): Promise<Known> {
    const { db, rateLimiter, signInAttemptsPerMinute } = this.#context
    const account = email.normalize('NFC').trim().toLowerCase()
    const key = createHash('sha256').update(account).digest('base64url')
    await rateLimiter.take(`sign-in/${key}/${address}`, signInAttemptsPerMinute, 60_000)

    const row = await db.em().findOne(PlayerRow, { email: addressOrNothing(email) })
    const matches = await verifyPassword(password, row?.passwordHash ?? null)
    if (!row || !matches || row.disabled) throw new InvalidCredentials()
    return { player: this.describe(row), epoch: row.epoch }
  }

  /** Changes what others see. @throws NotFound, InvalidRequest */
  async rename(id: string, name: string): Promise<void> {
    const rows = await this.#context.db.em().nativeUpdate(PlayerRow, { id }, { name: normaliseName(name) })
    if (rows === 0) throw new NotFound('player')
    await this.#context.events.emit('player.changed', { playerId: id })
  }

  /**
   * By who is signed in: with the password so far, or, for who came by other ways and sets a first one, freshly.
   *
   * @returns the epoch that it begins
   * @throws Forbidden when that takes a fresh sign-in; InvalidCredentials when `current` is wrong, or no longer right by
   * the time it would be replaced; RateLimited; InvalidRequest when `next` can't be taken
   */
  async changePassword({ playerId, sessionId, current, next, address }: PasswordChange): Promise<number> {
    const row = await this.#context.db.em().findOne(PlayerRow, { id: playerId })
    if (!row?.email) throw new NotFound('player')
    if (!row.passwordHash) await mustBeFresh(this.#context, sessionId)
    const { epoch } = row.passwordHash ? await this.authenticate({ email: row.email, password: current }, address) : row
    await this.#setPassword(this.describe(row), next, epoch)
    return epoch + 1
  }

  async hasPassword(id: string): Promise<boolean> {
    const row = await this.#context.db.em().findOne(PlayerRow, { id }, { fields: ['passwordHash'] })
    return Boolean(row?.passwordHash)
  }

  /**
   * Before what can't be undone: the password, or, for who has none, their name.
   *
   * @throws InvalidCredentials, InvalidRequest, RateLimited
   */
  async mustBeSure(id: string, given: { password: string; name: string; address: string }): Promise<void> {
    const row = await this.#context.db.em().findOne(PlayerRow, { id })
    if (!row) throw new NotFound('player')
    if (row.passwordHash && row.email) {
      await this.authenticate({ email: row.email, password: given.password }, given.address)
    } else if (given.name.normalize('NFC').trim() !== row.name) {
      throw fieldError('confirm', 'This is not your name.')
    }
  }

  /** Sets a password without the old one: for whoever runs the server. @throws NotFound, InvalidRequest */
  async resetPassword(email: string, password: string): Promise<Player> {
    const row = await this.#context.db.em().findOne(PlayerRow, { email: normaliseEmail(email) })
    if (!row) throw new NotFound('player')
    const player = this.describe(row)
    await this.#setPassword(player, password)
    return player
  }

  /** Who knew the old password is out: sessions, authorization codes and access tokens end with it. */
  async #setPassword(player: Player, password: string, epoch?: number): Promise<void> {
    const passwordHash = await this.hashNewPassword(password, player)
    await this.#context.db.transaction((em) => this.replacePassword(em, player.id, passwordHash, epoch))
    await this.#context.events.emit('player.changed', { playerId: player.id })
  }

  /** Checks a new password and hashes it. @throws InvalidRequest when it can't be taken */
  hashNewPassword(password: string, player: Player): Promise<string> {
    this.#acceptedPassword(password, player)
    return hashPassword(password)
  }

  /**
   * Within the caller's transaction, who then tells of `player.changed`.
   *
   * @param epoch where the old password allows it: of a change and a reset at once, the second does not undo the first
   * @throws InvalidCredentials when the account has another epoch by now
   */
  async replacePassword(em: SqlEntityManager, id: string, passwordHash: string, epoch?: number): Promise<void> {
    const rows = await em.nativeUpdate(PlayerRow, epoch === undefined ? { id } : { id, epoch }, { passwordHash })
    if (rows === 0) throw new InvalidCredentials()
    await this.endAccess(em, id)
  }

  /**
   * Ends whatever was given out for a player: sessions, authorization codes, tokens of games; by the epoch also what
   * other plugins signed. Within the caller's transaction, who then tells of `player.changed`.
   */
  async endAccess(em: SqlEntityManager, id: string): Promise<void> {
    await em.nativeUpdate(PlayerRow, { id }, { epoch: raw<number>('epoch + 1') })
    await em.nativeDelete(Session, { playerId: id })
    await endGrants(em, { playerId: id })
  }

  #acceptedPassword(password: string, { email, name }: { email: string | null; name: string }): string {
    const known = [...(email ? [email, email.slice(0, email.lastIndexOf('@'))] : []), name]
    const trouble = passwordTrouble(password, { minLength: this.#context.passwordMinLength, known })
    if (trouble) throw fieldError('password', trouble)
    return password
  }
}

/** An address that no account can have stands for what is none, so that both take the same way. */
function addressOrNothing(email: string): string {
  try {
    return normaliseEmail(email)
  } catch {
    return ''
  }
}

export const emailTaken = () =>
  new EmailTaken().with({ details: [{ path: 'email', message: 'has an account already' }] })
