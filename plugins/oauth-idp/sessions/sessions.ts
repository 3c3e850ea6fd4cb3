import { LockMode } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../../core/clock.ts'
import { markOnce } from '../../../core/data/consume-once.ts'
import { type Database, deleteInBatches } from '../../../core/data/database.ts'
import { TtlCache } from '../../../core/data/ttl-cache.ts'
import { NotFound } from '../../../core/errors.ts'
import type { Events } from '../../../core/events.ts'
import type { Principal, Viewer } from '../../../core/http/auth.ts'
import { newId, randomText } from '../../../core/ids.ts'
import { InvalidCredentials } from '../errors.ts'
import { PlayerRow } from '../players/entities.ts'
import { avatarPath, roleOf } from '../players/profile.ts'
import { hashSecret } from '../secret-hash.ts'
import { SessionCookie } from './cookie.ts'
import { Session } from './entities.ts'

declare module '../../../core/events.ts' {
  interface DomainEvents {
    'session.ended': { sessionId: string }
    /** A browser signed in again as the same player, and has another session value from now on. */
    'session.renewed': { sessionId: string }
  }
}

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
/** The number of days for which a browser stays signed in without a visit. */
const LIFE_DAYS = 30

/** A session in the form that the settings show to its player. */
export interface SessionEntry {
  id: string
  userAgent: string
  createdAt: Date
  lastSeenAt: Date
}

interface Known {
  principal: Principal & { viewer: Viewer }
  expiresAt: number
  lastSeenAt: number
}

/** The query of each signed-in request, for both dialects. */
const LOOK_UP = `select s.id, s.player_id, s.last_seen_at, s.expires_at, p.name, p.avatar, p.is_admin, p.moderator,
    (select count(*) from player_news n where n.player_id = p.id) as unread
  from sessions s join players p on p.id = s.player_id where s.token_hash = ? and not p.disabled`

interface LookUpRow {
  id: string
  player_id: string
  last_seen_at: number
  expires_at: number
  name: string
  avatar: string | null
  is_admin: number
  moderator: number
  unread: number | string
}

interface StandingRow {
  player_id: string
  expires_at: number
}

/**
 * Sessions of signed-in browsers. The cookie holds 32 random bytes, the database their hash. A session lasts 30 days
 * from the last visit, which is recorded to the hour; its value changes at every sign-in.
 */
export class Sessions {
  readonly #db: Database
  readonly #clock: Clock
  readonly #events: Events
  readonly #cookie: SessionCookie
  readonly #cache: TtlCache<Known>
  /** The sessions by id, for `holds`. */
  readonly #standing: TtlCache<StandingRow>

  /** @param portal the portal's origin */
  constructor({ db, clock, events, portal }: { db: Database; clock: Clock; events: Events; portal: string }) {
    this.#db = db
    this.#clock = clock
    this.#events = events
    this.#cookie = new SessionCookie({ portal, maxAgeSeconds: (LIFE_DAYS * DAY_MS) / 1000 })
    this.#cache = new TtlCache(clock)
    this.#standing = new TtlCache(clock)
    for (const event of ['session.ended', 'session.renewed'] as const) {
      events.on(event, ({ sessionId }) => {
        this.#cache.dropWhere(({ principal }) => principal.credentialId === sessionId)
        this.#standing.drop(sessionId)
      })
    }
    events.on('player.changed', ({ playerId }) => this.forget(playerId))
  }

  /**
   * Signs a browser in with a new session value. A session of the same player goes on with it, since sessions in games
   * depend on it (`holds`); one of another player ends.
   *
   * @param epoch of the account when the player authenticated; a password replaced since then makes the sign-in fail.
   *   Omitted for an account that was just created
   * @throws InvalidCredentials when the account has another epoch by now, is disabled, or gone
   */
  async start(reply: FastifyReply, playerId: string, epoch?: number): Promise<void> {
    const now = this.#clock.now()
    const token = randomText(32)
    const session = {
      tokenHash: hashSecret(token),
      playerId,
      userAgent: String(reply.request.headers['user-agent'] ?? '').slice(0, 300),
      createdAt: now,
      lastSeenAt: now,
      expiresAt: this.#expiryFrom(now),
    }
    const store = async (em: SqlEntityManager) => {
      // The lock orders this after a concurrent end of all sessions, which is then seen here, or before it, which then
      // ends this one.
      const player = await em.findOne(PlayerRow, { id: playerId }, { lockMode: LockMode.PESSIMISTIC_WRITE })
      if (!player || player.disabled || player.epoch !== (epoch ?? player.epoch)) throw new InvalidCredentials()
      const renewed = await this.#ownIn(em, reply.request, playerId)
      // Of two sign-ins at once, one goes on with the session, and the other gets a new one.
      if (renewed && (await markOnce(em, Session, renewed, session))) return renewed.id
      await em.insert(Session, { id: newId('ses', now), ...session })
      return null
    }
    const renewed = await this.#db.transaction(store, { alone: true })
    if (renewed !== null) await this.#events.emit('session.renewed', { sessionId: renewed })
    else await this.#endOf(reply.request)
    this.#cookie.set(reply, token)
  }

  /** Signs a browser out. Without a session it does nothing. */
  async end(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    await this.#endOf(request)
    this.#cookie.clear(reply)
    // Otherwise the Back button shows the pages of the player who has left. Browsers obey it over https and on localhost.
    reply.header('clear-site-data', '"cache"')
  }

  /** Returns the player of a browser session, for the kernel's `auth`. */
  async authenticate(request: FastifyRequest): Promise<Principal | null> {
    const token = this.#cookie.read(request)
    if (!token) return null
    const hash = hashSecret(token)
    const known = await this.#cache.get(hash, () => this.#lookUp(hash))
    return known && known.expiresAt > this.#clock.now().getTime() ? known.principal : null
  }

  /** Records the visit and extends the cookie, at most once an hour. */
  async renew(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    if (request.principal?.kind !== 'session' || reply.getHeader('set-cookie') !== undefined) return
    const token = this.#cookie.read(request)
    if (!token) return
    const hash = hashSecret(token)
    const known = await this.#cache.get(hash, () => this.#lookUp(hash))
    const now = this.#clock.now()
    if (!known || now.getTime() - known.lastSeenAt < HOUR_MS) return
    // Of several concurrent requests one writes. A session that ended in the meantime stays ended.
    const mine = await markOnce(
      this.#db.em(),
      Session,
      { tokenHash: hash, lastSeenAt: new Date(known.lastSeenAt) },
      { lastSeenAt: now, expiresAt: this.#expiryFrom(now) },
    )
    this.#cache.drop(hash)
    if (mine) this.#cookie.set(reply, token)
  }

  /** Drops what this node has cached of a player's sessions. */
  forget(playerId: string): void {
    this.#cache.dropWhere(({ principal }) => principal.playerId === playerId)
    this.#standing.dropWhere(({ player_id }) => player_id === playerId)
  }

  /** Whether a session is still valid, for issuers of signed values that depend on it. */
  async holds(sessionId: string): Promise<boolean> {
    const found = await this.#standing.get(sessionId, async () => {
      const [row] = await this.#db.query<StandingRow>('select player_id, expires_at from sessions where id = ?', [
        sessionId,
      ])
      return row ?? null
    })
    return found !== null && found.expires_at > this.#clock.now().getTime()
  }

  /** Returns the time at which the player of a session signed in. */
  async startedAt(sessionId: string): Promise<Date> {
    const [row] = await this.#db.query<{ created_at: number }>('select created_at from sessions where id = ?', [
      sessionId,
    ])
    return new Date(row?.created_at ?? 0)
  }

  /** Lists the sessions of a player, the latest visit first. */
  async list(playerId: string): Promise<SessionEntry[]> {
    return this.#db
      .em()
      .find(
        Session,
        { playerId, expiresAt: { $gt: this.#clock.now() } },
        { orderBy: { lastSeenAt: 'desc', id: 'desc' }, limit: 100 },
      )
  }

  /** Ends one of a player's sessions. @throws NotFound */
  async revoke(playerId: string, sessionId: string): Promise<void> {
    const rows = await this.#db.em().nativeDelete(Session, { id: sessionId, playerId })
    if (rows === 0) throw new NotFound('session')
    await this.#events.emit('session.ended', { sessionId })
  }

  /** Ends all of a player's sessions except one. @returns how many ended */
  async revokeOthers(playerId: string, sessionId: string): Promise<number> {
    const rows = await this.#db.em().nativeDelete(Session, { playerId, id: { $ne: sessionId } })
    await this.#events.emit('player.changed', { playerId })
    return rows
  }

  /** Deletes expired sessions. */
  async sweep(signal?: AbortSignal): Promise<void> {
    const parameters = [this.#clock.now()]
    await deleteInBatches(this.#db, { table: 'sessions', key: ['id'], where: 'expires_at <= ?', parameters }, signal)
  }

  /** Returns the session of a player that a request has, if it is the only one. */
  async #ownIn(em: SqlEntityManager, request: FastifyRequest, playerId: string) {
    const tokens = this.#cookie.readAll(request)
    if (tokens.length !== 1) return null
    const tokenHash = hashSecret(tokens[0] as string)
    const known = await em.findOne(Session, { tokenHash, playerId, expiresAt: { $gt: this.#clock.now() } })
    return known && { id: known.id, tokenHash }
  }

  async #endOf(request: FastifyRequest): Promise<void> {
    // All values are removed, so that neither of two cookies (one planted by a sibling site) remains valid.
    for (const token of this.#cookie.readAll(request)) {
      const tokenHash = hashSecret(token)
      const em = this.#db.em()
      const session = await em.findOne(Session, { tokenHash }, { fields: ['id'] })
      if (!session) continue
      await em.nativeDelete(Session, { tokenHash })
      await this.#events.emit('session.ended', { sessionId: session.id })
    }
  }

  async #lookUp(tokenHash: string): Promise<Known | null> {
    const [row] = await this.#db.query<LookUpRow>(LOOK_UP, [tokenHash])
    if (!row) return null
    const viewer = {
      id: row.player_id,
      name: row.name,
      imageUrl: avatarPath(row.player_id, row.avatar),
      isAdmin: Boolean(row.is_admin),
      role: roleOf({ isAdmin: Boolean(row.is_admin), moderator: Boolean(row.moderator) }),
      unread: Number(row.unread),
    }
    return {
      principal: { kind: 'session', playerId: row.player_id, scopes: 'all', credentialId: row.id, viewer },
      expiresAt: row.expires_at,
      lastSeenAt: row.last_seen_at,
    }
  }

  #expiryFrom(now: Date): Date {
    return new Date(now.getTime() + LIFE_DAYS * DAY_MS)
  }
}
