import type { Readable } from 'node:stream'
import { raw } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Clock } from '../../../core/clock.ts'
import { type Action, type Actor, type AuditState, PROGRAM, recordAction } from '../../../core/data/audit.ts'
import type { Database } from '../../../core/data/database.ts'
import { Conflict, Forbidden, NotFound } from '../../../core/errors.ts'
import type { Events } from '../../../core/events.ts'
import type { Role } from '../../../core/http/auth.ts'
import { cutPage, mustBeCursor, type PageQuery } from '../../../core/http/pagination.ts'
import { LastAdmin } from '../errors.ts'
import type { AccountDeletion } from '../players/account-deletion.ts'
import { type AccountEmails, LINK_MS } from '../players/account-emails.ts'
import type { Avatars } from '../players/avatars.ts'
import { lockAccount, lockAdmins } from '../players/caller-check.ts'
import { PlayerRow } from '../players/entities.ts'
import type { OneTimeTokens } from '../players/one-time-tokens.ts'
import type { Players } from '../players/players.ts'
import { normaliseName, roleOf } from '../players/profile.ts'
import type { Player } from '../players/schemas.ts'
import type { Decisions } from '../players/shared-content.ts'

interface AdministrationContext {
  db: Database
  clock: Clock
  events: Events
  players: Players
  portalUrl: string
}

/** Services that accounts and links require in addition. A shell command has none of them. */
interface AdministrationParts {
  tokens: OneTimeTokens
  emails: AccountEmails
  deletion: AccountDeletion
  avatars: Avatars
}

export type ManagedPlayer = Player & { disabled: boolean; trusted: boolean }

/**
 * Runs in the transaction that disables or re-enables a player.
 *
 * @returns a function that announces it after the commit
 */
type Following = (em: SqlEntityManager, playerId: string, disabled: boolean) => Promise<() => Promise<void>>

/**
 * Runs in the transaction that makes a player trusted.
 *
 * @returns a function that announces it after the commit
 */
type Trusting = (em: SqlEntityManager, playerId: string, by: Actor) => Promise<() => Promise<void>>

const EXPORTED =
  'An administrator of this server has downloaded the data about you. If you have not asked for it, ask them why.'

/** Narrows the list of players. */
export interface PlayerFilter {
  role?: Role | undefined
  state?: 'disabled' | 'trusted' | 'guest' | undefined
}

const WITH_ROLE = {
  admin: { isAdmin: true },
  moderator: { isAdmin: false, moderator: true },
  player: { isAdmin: false, moderator: false, guest: false },
} satisfies Record<Role, object>
const WITH_STATE = { disabled: { disabled: true }, trusted: { trusted: true }, guest: { guest: true } }

type Changes = Partial<
  Pick<PlayerRow, 'disabled' | 'disabledCause' | 'isAdmin' | 'moderator' | 'trusted' | 'name' | 'avatar'>
>

interface Disabling {
  withContent?: boolean
  by?: Actor
  reason?: string | undefined
  /** The id of the decision that disables the player. */
  cause?: string
}

/** Returns the state of a player that the audit log records before or after a change. */
function stateOf(row: PlayerRow, changes: Changes): AuditState | null {
  if (changes.trusted !== undefined) return { trusted: row.trusted }
  if (changes.disabled !== undefined) return { disabled: row.disabled }
  return changes.isAdmin === undefined ? null : { role: roleOf(row) }
}

/** Actions of administrators on players. Every change takes effect at once on every node (`player.changed`). */
export class Administration {
  readonly #context: AdministrationContext & AdministrationParts
  readonly #followers: Following[] = []
  readonly #trusting: Trusting[] = []

  constructor(context: AdministrationContext & Partial<AdministrationParts>) {
    this.#context = context as AdministrationContext & AdministrationParts
  }

  /** Lists players, the newest first. @param q part of a name, address or id */
  async list({ q = '', role, state, limit, cursor }: PageQuery & PlayerFilter & { q?: string | undefined }) {
    const pattern = `%${q
      .normalize('NFC')
      .trim()
      .toLowerCase()
      .replace(/[\\%_]/g, '\\$&')}%`
    const like = (column: string) => raw(`lower(${column}) like ? escape '\\'`, [pattern])
    const em = this.#context.db.em()
    const query = em
      .createQueryBuilder(PlayerRow)
      .orderBy({ id: 'desc' })
      .limit(limit + 1)
    if (role !== undefined) query.andWhere(WITH_ROLE[role])
    if (state !== undefined) query.andWhere(WITH_STATE[state])
    const before = mustBeCursor('ply', cursor)
    if (before) query.andWhere({ id: { $lt: before } })
    if (q.trim())
      query.andWhere({
        $or: [{ id: q.trim() }, ...['name', 'email'].map((column) => ({ [like(column) as never]: [] }))],
      } as never)
    const { page, nextCursor } = cutPage(await query.getResult(), limit)
    return { players: page.map((row) => this.#describe(row)), nextCursor }
  }

  /** Returns the number of players, guests included. */
  async count(): Promise<number> {
    const [row] = await this.#context.db.query<{ players: number }>('select count(*) as players from players')
    return Number(row?.players ?? 0)
  }

  /** @throws NotFound */
  async find(id: string): Promise<ManagedPlayer> {
    const row = await this.#context.db.em().findOne(PlayerRow, { id })
    if (!row) throw new NotFound('player')
    return this.#describe(row)
  }

  /** Registers a plugin's callback for the content of a player who is disabled or re-enabled. */
  onDisabling(follow: Following): void {
    this.#followers.push(follow)
  }

  /**
   * Disables a player, which ends all their sessions and tokens, or re-enables them.
   *
   * @param withContent whether the content that they made is hidden or restored with them
   * @throws NotFound, LastAdmin; Forbidden when a moderator acts on staff
   */
  async setDisabled(id: string, disabled: boolean, options: Disabling = {}): Promise<void> {
    const announce = await this.#context.db.transaction((em) => this.setDisabledIn(em, id, disabled, options))
    await announce()
  }

  /**
   * Does the same in the caller's transaction.
   *
   * @returns a function that notifies every node; call it after the transaction
   */
  async setDisabledIn(
    em: SqlEntityManager,
    id: string,
    disabled: boolean,
    { withContent = true, by = PROGRAM, reason, cause = 'staff' }: Disabling = {},
  ): Promise<() => Promise<void>> {
    const announcements: Awaited<ReturnType<Following>>[] = []
    const action = disabled ? 'player.disable' : 'player.enable'
    const changes = { disabled, disabledCause: disabled ? cause : null }
    await this.#changeIn(em, id, changes, { by, action, reason: reason ?? null })
    if (disabled) await this.#context.players.endAccess(em, id)
    // A decision about reports tells the owner later, since it can be undone until then.
    if (disabled && cause === 'staff') await this.#context.emails.enqueue(em, { kind: 'disabled', playerId: id })
    if (withContent) for (const follow of this.#followers) announcements.push(await follow(em, id, disabled))
    return async () => {
      await this.#context.events.emit('player.changed', { playerId: id })
      for (const announce of announcements) await announce()
    }
  }

  /**
   * Enables a player whom a decision disabled, in the caller's transaction.
   *
   * @returns a function that notifies every node; null when the player is enabled, or disabled for another reason by now
   */
  async undoDisablingIn(
    em: SqlEntityManager,
    id: string,
    { by, cause }: { by: Actor; cause: string },
  ): Promise<(() => Promise<void>) | null> {
    await lockAccount(em, this.#context.db, id)
    const isTheSame = (await em.count(PlayerRow, { id, disabled: true, disabledCause: cause })) === 1
    return isTheSame ? this.setDisabledIn(em, id, false, { by }) : null
  }

  /** Whether a player is disabled, which stays so until the transaction ends. */
  async isDisabledIn(em: SqlEntityManager, id: string): Promise<boolean> {
    await lockAccount(em, this.#context.db, id)
    return (await em.count(PlayerRow, { id, disabled: true })) === 1
  }

  /** Registers a plugin's callback for a player who becomes trusted. */
  onTrusting(follow: Trusting): void {
    this.#trusting.push(follow)
  }

  /**
   * Says whether a player publishes games without approval. Published games stay published.
   *
   * @throws NotFound, Conflict for a guest
   */
  async setTrusted(id: string, trusted: boolean, by = PROGRAM): Promise<void> {
    if (trusted && (await this.find(id)).isGuest) throw new Conflict('A guest has no account that lasts.')
    const announcements: (() => Promise<void>)[] = []
    await this.#change(id, { trusted }, { by, action: 'player.trust' }, async (em) => {
      if (trusted) for (const follow of this.#trusting) announcements.push(await follow(em, id, by))
    })
    for (const announce of announcements) await announce()
  }

  /** Sets the role of a player. @throws NotFound, LastAdmin, Conflict for a guest */
  async setRole(id: string, role: Role, by = PROGRAM): Promise<void> {
    const player = await this.find(id)
    if (role !== 'player' && player.isGuest)
      throw new Conflict('A guest has no account to look after this server with.')
    const changes = { isAdmin: role === 'admin', moderator: role === 'moderator' }
    return this.#change(id, changes, { by, action: 'player.role' })
  }

  signOutEverywhere(id: string, by = PROGRAM): Promise<void> {
    return this.#change(id, {}, { by, action: 'player.sign-out' }, (em) => this.#context.players.endAccess(em, id))
  }

  /** Gives a player another name. @throws NotFound, InvalidRequest; Forbidden when a moderator acts on staff */
  async rename(id: string, name: string, by = PROGRAM): Promise<void> {
    // Rows of the audit stay after the account, so they have no names.
    return this.#change(id, { name: normaliseName(name) }, { by, action: 'player.rename' })
  }

  /** Gives a player the generated picture. @throws NotFound; Forbidden when a moderator acts on staff */
  async removePicture(id: string, by = PROGRAM): Promise<void> {
    await this.#change(id, { avatar: null }, { by, action: 'player.picture' })
    await this.#context.avatars.deleteFiles(id)
  }

  /**
   * Creates a link by which a player sets a new password, for somebody who has lost theirs and gets no mail. It works as
   * the one in a mail does, but proves nothing about their address.
   *
   * @returns the link, which is shown once
   * @throws NotFound, Conflict for administrators, guests and disabled players
   */
  async makePasswordLink(id: string, by = PROGRAM): Promise<string> {
    const { tokens, emails, portalUrl } = this.#context
    let token = ''
    await this.#change(id, {}, { by, action: 'player.password-link' }, async (em) => {
      const { email, emailVerified, ...row } = await em.findOneOrFail(PlayerRow, { id })
      if (row.isAdmin)
        throw new Conflict('An administrator gets a new password by mail, or by `gameyard admin reset-password`.')
      if (!email) throw new Conflict('The account has no email address, with which one signs in.')
      if (row.disabled) throw new Conflict('Let the player in again first.')
      token = await tokens.issue(em, 'reset', { playerId: id, email, data: { byStaff: true }, lifeMs: LINK_MS })
      if (!emailVerified) return
      const subject = 'A link for a new password'
      const text = `An administrator of this server has made a link by which you set a new password. If you have not asked for one, tell them.`
      await emails.enqueue(em, { kind: 'notice', playerId: id, subject, text })
    })
    return `${portalUrl}/reset-password/${token}`
  }

  /**
   * Exports what the platform stores about a player, who may have asked the administrators for it. The player is told.
   *
   * @throws NotFound, ExportUnderWay
   */
  async exportData(id: string, by = PROGRAM): Promise<Readable> {
    const { clock, deletion, emails } = this.#context
    await this.find(id)
    const text = deletion.data.begin(id, clock.now())
    try {
      await this.#change(id, {}, { by, action: 'player.export' }, (em) =>
        emails.enqueue(em, { kind: 'notice', playerId: id, subject: 'Your data was exported', text: EXPORTED }),
      )
    } catch (error) {
      text.destroy()
      throw error
    }
    return text
  }

  /**
   * Deletes an account permanently.
   *
   * @param decisions what becomes of what others use as well
   * @throws as `AccountDeletion.remove`
   */
  async remove(id: string, decisions: Decisions, by = PROGRAM): Promise<void> {
    const { clock, deletion } = this.#context
    const condition = async (em: SqlEntityManager) => {
      await recordAction(em, clock, { by, action: 'player.delete', target: { kind: 'player', id } })
      return true
    }
    await deletion.remove(id, { condition, decisions })
  }

  async #change(
    id: string,
    changes: Changes,
    action: Omit<Action, 'target'>,
    also?: (em: SqlEntityManager) => Promise<void>,
  ): Promise<void> {
    const { db, events } = this.#context
    await db.transaction(async (em) => {
      await this.#changeIn(em, id, changes, action)
      await also?.(em)
    })
    await events.emit('player.changed', { playerId: id })
  }

  async #changeIn(em: SqlEntityManager, id: string, changes: Changes, action: Omit<Action, 'target'>): Promise<void> {
    // The lock prevents two administrators who disable each other concurrently from both succeeding.
    const admins = await lockAdmins(em, this.#context.db)
    if (changes.disabled) await lockAccount(em, this.#context.db, id)
    const row = await em.findOne(PlayerRow, { id })
    if (!row) throw new NotFound('player')
    // It is checked in the transaction, so that somebody who becomes staff meanwhile is not disabled.
    if (action.by.role === 'moderator' && roleOf(row) !== 'player')
      throw new Forbidden('Only an administrator acts on a moderator or an administrator.')
    const leaves = changes.disabled === true || changes.isAdmin === false
    if (leaves && admins.length === 1 && admins[0] === id) throw new LastAdmin()
    const target = { kind: 'player' as const, id }
    const states = { before: stateOf(row, changes), after: stateOf({ ...row, ...changes }, changes) }
    await recordAction(em, this.#context.clock, { ...action, target, ...states })
    if (Object.keys(changes).length > 0) await em.nativeUpdate(PlayerRow, { id }, changes)
  }

  #describe(row: PlayerRow): ManagedPlayer {
    return { ...this.#context.players.describe(row), disabled: row.disabled, trusted: row.trusted }
  }
}
