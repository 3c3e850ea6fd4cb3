import { raw } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Clock } from '../../../core/clock.ts'
import { PROGRAM, recordAction } from '../../../core/data/audit.ts'
import { type Database, isUniqueViolation, type Statements } from '../../../core/data/database.ts'
import { TtlCache } from '../../../core/data/ttl-cache.ts'
import { NotFound } from '../../../core/errors.ts'
import type { Events } from '../../../core/events.ts'
import { newId } from '../../../core/ids.ts'
import { visibleText } from '../../../core/visible-text.ts'
import { EmailTaken } from '../errors.ts'
import { endGrants } from '../oauth/grants.ts'
import { Session } from '../sessions/entities.ts'
import { FINDABLE, PlayerRow } from './entities.ts'
import { acceptedPassword, type PasswordHasher } from './passwords.ts'
import { addressOrNothing, avatarPath, normaliseEmail, normaliseName, readFields, roleOf } from './profile.ts'
import type { Player } from './schemas.ts'

declare module '../../../core/events.ts' {
  interface DomainEvents {
    /** The name, picture, rights or standing of a player changed, or they were signed out everywhere. */
    'player.changed': { playerId: string }
    /** A player was deleted, with all data that this plugin held about them. */
    'player.deleted': { playerId: string }
  }
}

/** The state that decides whether earlier signed values of a player are still valid, and how the player is shown. */
export interface Standing {
  disabled: boolean
  /** Grows when the player is signed out everywhere. Everything that was signed under a smaller value is invalid. */
  epoch: number
  name: string
  imageUrl: string
}

/** An authenticated player, and the epoch at that moment. */
export interface Known {
  player: Player
  epoch: number
}

export interface NewPlayer {
  email: string
  password: string
  name: string
}

/** A new account before it is stored. */
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
> &
  Partial<Pick<PlayerRow, 'moderator'>>

interface PlayersContext {
  db: Database
  clock: Clock
  events: Events
  portalUrl: string
  signUp: 'open' | 'invite' | 'closed'
  passwordMinLength: number
  hasher: PasswordHasher
}

/** The public name and picture of a player. */
export interface Profile {
  id: string
  name: string
  imageUrl: string
}

const LAST_CHARACTER = '\u{10FFFF}'

/** Returns the spellings of a name that differ in the case of letters which `lower` of SQLite leaves as they are. */
function spellingsOf(text: string): string[] {
  const lower = text.toLowerCase()
  const capitalised = lower.replace(/(?<=^|\s)\S/gu, (letter) => letter.toUpperCase())
  const ascii = (spelling: string) => spelling.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
  return [...new Set([text, lower, capitalised].map(ascii))]
}

/** All players, including guests. */
export class Players {
  readonly #context: PlayersContext
  readonly #standings: TtlCache<Standing>

  constructor(context: PlayersContext) {
    this.#context = context
    this.#standings = new TtlCache(context.clock)
    context.events.on('player.changed', ({ playerId }) => this.#standings.drop(playerId))
    context.events.on('player.deleted', ({ playerId }) => this.#standings.drop(playerId))
  }

  /** Whether anyone can create an account. */
  get signUpIsOpen(): boolean {
    return this.#context.signUp === 'open'
  }

  async find(id: string): Promise<(Player & Standing) | null> {
    const row = await this.#context.db.em().findOne(PlayerRow, { id })
    return row && { ...this.describe(row), disabled: row.disabled, epoch: row.epoch }
  }

  /** Returns these players, by id. */
  async byIds(ids: readonly string[]): Promise<ReadonlyMap<string, Player>> {
    if (ids.length === 0) return new Map()
    const rows = await this.#context.db.em().find(PlayerRow, { id: { $in: [...ids] } })
    return new Map(rows.map((row) => [row.id, this.describe(row)]))
  }

  /** Returns the names of these players, by id. */
  async namesOf(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (ids.length === 0) return new Map()
    const rows = await this.#context.db.query<{ id: string; name: string }>(
      `select id, name from players where id in (${ids.map(() => '?').join(', ')})`,
      ids,
    )
    return new Map(rows.map(({ id, name }) => [id, name]))
  }

  /** Returns the public name and picture of these players, by id. */
  async profilesOf(ids: readonly string[]): Promise<ReadonlyMap<string, { name: string; imageUrl: string }>> {
    if (ids.length === 0) return new Map()
    const rows = await this.#context.db.query<{ id: string; name: string; avatar: string | null }>(
      `select id, name, avatar from players where id in (${ids.map(() => '?').join(', ')})`,
      ids,
    )
    const { portalUrl } = this.#context
    return new Map(rows.map(({ id, name, avatar }) => [id, { name, imageUrl: portalUrl + avatarPath(id, avatar) }]))
  }

  /** Returns the public name and picture of these players by id, and whether they have a public page. */
  async creditsOf(
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, Profile & Pick<Standing, 'disabled'> & { hasPage: boolean }>> {
    if (ids.length === 0) return new Map()
    const rows = await this.#context.db.query<{
      id: string
      name: string
      avatar: string | null
      guest: number
      disabled: number
    }>(`select id, name, avatar, guest, disabled from players where id in (${ids.map(() => '?').join(', ')})`, ids)
    const { portalUrl } = this.#context
    return new Map(
      rows.map(({ id, name, avatar, ...is }) => {
        const disabled = Boolean(is.disabled)
        const profile = { id, name, imageUrl: portalUrl + avatarPath(id, avatar) }
        return [id, { ...profile, disabled, hasPage: !disabled && !is.guest }]
      }),
    )
  }

  /** Finds players by the beginning of their name, in the order of the names. Case does not count. */
  startingWith(start: string, limit: number): Promise<Profile[]> {
    return this.#findable(start, limit, 'start')
  }

  /** Finds the players of a name. Case does not count. */
  named(name: string, limit: number): Promise<Profile[]> {
    return this.#findable(name, limit, 'whole')
  }

  /** Guests and disabled players are not found. */
  async #findable(text: string, limit: number, part: 'start' | 'whole'): Promise<Profile[]> {
    const typed = visibleText(text)
    if (typed === '') return []
    const { db, portalUrl } = this.#context
    const column = db.dialect === 'postgres' ? 'lower(name) collate "C"' : 'lower(name)'
    const condition = part === 'start' ? `${column} >= lower(?) and ${column} < lower(?)` : `${column} = lower(?)`
    const found = new Map<string, Profile>()
    for (const spelling of spellingsOf(typed)) {
      const rows = await db.query<{ id: string; name: string; avatar: string | null }>(
        `select id, name, avatar from players where ${condition} and ${FINDABLE} order by ${column}, id limit ?`,
        [spelling, ...(part === 'start' ? [spelling + LAST_CHARACTER] : []), limit],
      )
      for (const { id, name, avatar } of rows) {
        found.set(id, { id, name, imageUrl: portalUrl + avatarPath(id, avatar) })
      }
    }
    return [...found.values()].slice(0, limit)
  }

  /** Finds the account of an email address; null when there is none. */
  async findByEmail(email: string): Promise<(Player & Standing) | null> {
    const row = await this.#context.db.em().findOne(PlayerRow, { email: addressOrNothing(email) })
    return row && { ...this.describe(row), disabled: row.disabled, epoch: row.epoch }
  }

  /** Returns a player's row in its public form. */
  describe(row: PlayerRow | NewRow): Player {
    return {
      id: row.id,
      email: row.email ?? null,
      emailVerified: row.emailVerified,
      name: row.name,
      imageUrl: this.#context.portalUrl + avatarPath(row.id, row.avatar ?? null),
      isGuest: row.guest,
      isAdmin: row.isAdmin,
      role: roleOf(row),
      createdAt: row.createdAt.toISOString(),
    }
  }

  /** Returns the cached `standing` synchronously; undefined when it is not cached. */
  standingNow(id: string): Standing | undefined {
    return this.#standings.peek(id)
  }

  /** Returns the standing for a request with a signed value; null when there is no such player, or no longer. */
  standing(id: string): Promise<Standing | null> {
    return this.#standings.get(id, async () => {
      const [row] = await this.#context.db.query<{
        disabled: number
        epoch: number
        name: string
        avatar: string | null
      }>('select disabled, epoch, name, avatar from players where id = ?', [id])
      if (!row) return null
      const { epoch, name, avatar } = row
      const imageUrl = this.#context.portalUrl + avatarPath(id, avatar)
      return { disabled: Boolean(row.disabled), epoch, name, imageUrl }
    })
  }

  /**
   * Returns those of these players who are neither deleted nor disabled. They stay so until the transaction ends, since
   * ending an account locks its row first.
   */
  async lockPresent({ query }: Statements, ids: readonly string[]): Promise<ReadonlySet<string>> {
    const lock = this.#context.db.dialect === 'postgres' ? ' for key share' : ''
    const rows = await query<{ id: string }>(
      `select id from players where id in (${ids.map(() => '?').join(', ')}) and disabled = ? order by id${lock}`,
      [...ids, false],
    )
    return new Set(rows.map(({ id }) => id))
  }

  /** Whether a player publishes games without approval: staff, and players whom staff trust. @param em the transaction */
  async mayPublish(em: SqlEntityManager, id: string): Promise<boolean> {
    const row = await em.findOne(PlayerRow, { id }, { fields: ['isAdmin', 'moderator', 'trusted'] })
    return row !== null && (row.trusted || roleOf(row) !== 'player')
  }

  /**
   * Creates an account.
   *
   * @throws InvalidRequest when a field is refused, with `details` naming it
   * @throws EmailTaken
   */
  async create(fields: NewPlayer & { isAdmin?: boolean }): Promise<Player> {
    const row = await this.prepare(fields, PROGRAM.id)
    return this.insert(this.#context.db.em(), row)
  }

  /** Creates an account for the server's administrator, whether or not sign-up is open. */
  async createByHost(fields: NewPlayer, role: 'admin' | 'player', by = PROGRAM): Promise<Player> {
    const { db, clock } = this.#context
    const row = await this.prepare({ ...fields, isAdmin: role === 'admin' }, PROGRAM.id)
    return db.transaction(async (em) => {
      const player = await this.insert(em, row)
      const target = { kind: 'player', id: row.id } as const
      await recordAction(em, clock, { by, action: 'player.create', target, after: { role } })
      return player
    })
  }

  /**
   * Checks the fields of a new account and hashes its password. It is slow, so it runs outside of transactions.
   *
   * @param caller the player or address that waits for the hash in turn
   */
  async prepare(
    { email, password, name, isAdmin = false }: NewPlayer & { isAdmin?: boolean },
    caller: string,
  ): Promise<NewRow> {
    const { password: accepted, ...account } = readFields<{ email: string; name: string; password: string }>({
      email: () => normaliseEmail(email),
      name: () => normaliseName(name),
      password: ({ email = null, name = '' }) =>
        acceptedPassword(password, { minLength: this.#context.passwordMinLength, player: { email, name } }),
    })
    const createdAt = this.#context.clock.now()
    return {
      id: newId('ply', createdAt),
      ...account,
      emailVerified: false,
      avatar: null,
      passwordHash: await this.#context.hasher.hash(accepted, caller),
      guest: false,
      isAdmin,
      disabled: false,
      epoch: 0,
      createdAt,
    }
  }

  /** Stores the row that `prepare` made. @throws EmailTaken */
  async insert(em: SqlEntityManager, row: NewRow): Promise<Player> {
    try {
      await em.insert(PlayerRow, row)
    } catch (error) {
      if (isUniqueViolation(error)) {
        throw emailTaken()
      }
      throw error
    }
    return this.describe(row)
  }

  /**
   * Changes a row, including its email address. When `condition` does not hold, the player counts as not found.
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
      throw isUniqueViolation(error) ? emailTaken() : error
    }
  }

  /** Changes the public name. @throws NotFound, InvalidRequest */
  async rename(id: string, name: string): Promise<void> {
    const rows = await this.#context.db.em().nativeUpdate(PlayerRow, { id }, { name: normaliseName(name) })
    if (rows === 0) throw new NotFound('player')
    await this.#context.events.emit('player.changed', { playerId: id })
  }

  /**
   * Revokes everything that was issued for a player: sessions, authorization codes, tokens of games, and by the epoch
   * also what other plugins signed. It runs in the caller's transaction; the caller then emits `player.changed`.
   */
  async endAccess(em: SqlEntityManager, id: string): Promise<void> {
    await em.nativeUpdate(PlayerRow, { id }, { epoch: raw<number>('epoch + 1') })
    await em.nativeDelete(Session, { playerId: id })
    await endGrants(em, { playerId: id })
  }
}

export const emailTaken = () =>
  new EmailTaken().with({ details: [{ path: 'email', message: 'has an account already' }] })
