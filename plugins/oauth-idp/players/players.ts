import { createHash } from 'node:crypto'
import { UniqueConstraintViolationException } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Clock } from '../../../core/clock.ts'
import type { Database } from '../../../core/database.ts'
import { NotFound } from '../../../core/errors.ts'
import type { Events } from '../../../core/events.ts'
import { newId } from '../../../core/ids.ts'
import type { RateLimiter } from '../../../core/rate-limit.ts'
import { ShortCache } from '../../../core/short-cache.ts'
import { EmailTaken, InvalidCredentials, SignUpClosed } from '../errors.ts'
import { AccessToken, AuthorizationCode } from '../oauth/entities.ts'
import { Session } from '../sessions/entities.ts'
import { PlayerRow } from './entities.ts'
import { hashPassword, passwordTrouble, verifyPassword } from './passwords.ts'
import { fieldError, normaliseEmail, normaliseName } from './profile.ts'
import type { Player } from './schemas.ts'

declare module '../../../core/events.ts' {
  interface DomainEvents {
    /** Name, picture, rights or standing of a player changed, or they were signed out everywhere. */
    'player.changed': { playerId: string }
  }
}

/** Whether what was given to a player some time ago still holds. */
export interface Standing {
  disabled: boolean
  /** Grows when the player is signed out everywhere: what was signed under a smaller one is void. */
  epoch: number
}

export interface NewPlayer {
  email: string
  password: string
  name: string
}

interface PlayersContext {
  db: Database
  clock: Clock
  events: Events
  rateLimiter: RateLimiter
  signUp: 'open' | 'closed'
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
  }

  /** Whether strangers can make accounts. */
  get signUpIsOpen(): boolean {
    return this.#context.signUp === 'open'
  }

  async find(id: string): Promise<(Player & Standing) | null> {
    const row = await this.#context.db.em().findOne(PlayerRow, { id })
    return row && { ...toPlayer(row), disabled: row.disabled, epoch: row.epoch }
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

  /** An account that someone makes for themselves. @throws SignUpClosed and what `create` throws */
  async signUp(fields: NewPlayer): Promise<Player> {
    if (!this.signUpIsOpen) throw new SignUpClosed()
    return this.create(fields)
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
  async prepare({ email, password, name, isAdmin = false }: NewPlayer & { isAdmin?: boolean }) {
    const account = { email: normaliseEmail(email), name: normaliseName(name) }
    this.#checkPassword(password, account)
    const createdAt = this.#context.clock.now()
    return {
      id: newId('ply', createdAt),
      ...account,
      imageUrl: null,
      passwordHash: await hashPassword(password),
      isAdmin,
      disabled: false,
      epoch: 0,
      createdAt,
    }
  }

  /** Writes what `prepare` made. @throws EmailTaken */
  async insert(em: SqlEntityManager, row: Awaited<ReturnType<Players['prepare']>>): Promise<Player> {
    try {
      await em.insert(PlayerRow, row)
    } catch (error) {
      if (error instanceof UniqueConstraintViolationException) {
        throw new EmailTaken().with({ details: [{ path: 'email', message: 'has an account already' }] })
      }
      throw error
    }
    return toPlayer(row)
  }

  /**
   * Who has this email address and password. The answer, and the time it takes, are the same whether there is no such
   * account, the password is wrong or the account is disabled.
   *
   * @param address of the caller: attempts are counted by account and address
   * @throws InvalidCredentials, RateLimited
   */
  async authenticate({ email, password }: { email: string; password: string }, address: string): Promise<Player> {
    const { db, rateLimiter, signInAttemptsPerMinute } = this.#context
    const account = email.normalize('NFC').trim().toLowerCase()
    const key = createHash('sha256').update(account).digest('base64url')
    await rateLimiter.take(`sign-in/${key}/${address}`, signInAttemptsPerMinute, 60_000)

    const row = await db.em().findOne(PlayerRow, { email: addressOrNothing(email) })
    const matches = await verifyPassword(password, row?.passwordHash ?? null)
    if (!row || !matches || row.disabled) throw new InvalidCredentials()
    return toPlayer(row)
  }

  /** Changes what others see. @throws NotFound, InvalidRequest */
  async rename(id: string, name: string): Promise<void> {
    const rows = await this.#context.db.em().nativeUpdate(PlayerRow, { id }, { name: normaliseName(name) })
    if (rows === 0) throw new NotFound('player')
    await this.#context.events.emit('player.changed', { playerId: id })
  }

  /** @throws InvalidCredentials when `current` is wrong; RateLimited; InvalidRequest when `next` can't be taken */
  async changePassword(id: string, current: string, next: string, address: string): Promise<void> {
    const player = await this.find(id)
    if (!player) throw new NotFound('player')
    await this.authenticate({ email: player.email, password: current }, address)
    await this.#setPassword(player, next)
  }

  /** Sets a password without the old one: for whoever runs the server. @throws NotFound, InvalidRequest */
  async resetPassword(email: string, password: string): Promise<Player> {
    const row = await this.#context.db.em().findOne(PlayerRow, { email: normaliseEmail(email) })
    if (!row) throw new NotFound('player')
    const player = toPlayer(row)
    await this.#setPassword(player, password)
    return player
  }

  /** Who knew the old password is out: sessions, authorization codes and access tokens end with it. */
  async #setPassword(player: Player, password: string): Promise<void> {
    this.#checkPassword(password, player)
    const passwordHash = await hashPassword(password)
    await this.#context.db.transaction(async (em) => {
      const row = await em.findOneOrFail(PlayerRow, { id: player.id })
      await em.nativeUpdate(PlayerRow, { id: player.id }, { passwordHash, epoch: row.epoch + 1 })
      await em.nativeDelete(Session, { playerId: player.id })
      await em.nativeDelete(AuthorizationCode, { playerId: player.id })
      await em.nativeDelete(AccessToken, { playerId: player.id })
    })
    await this.#context.events.emit('player.changed', { playerId: player.id })
  }

  #checkPassword(password: string, { email, name }: { email: string; name: string }): void {
    const known = [email, email.slice(0, email.lastIndexOf('@')), name]
    const trouble = passwordTrouble(password, { minLength: this.#context.passwordMinLength, known })
    if (trouble) throw fieldError('password', trouble)
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

const toPlayer = (row: Pick<PlayerRow, 'id' | 'email' | 'name' | 'imageUrl' | 'isAdmin' | 'createdAt'>): Player => ({
  id: row.id,
  email: row.email,
  name: row.name,
  imageUrl: row.imageUrl ?? null,
  isAdmin: row.isAdmin,
  createdAt: row.createdAt.toISOString(),
})
