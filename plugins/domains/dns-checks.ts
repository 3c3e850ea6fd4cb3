import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import { isUniqueViolation } from '../../core/data/database.ts'
import { type Game, recordActivity } from '../games/index.ts'
import { type AddressFound, DomainDns } from './dns.ts'
import { GameDomain } from './entities.ts'
import { failingNotice, type Notice, offNotice, verifiedNotice } from './notices.ts'
import { gameNameOf } from './record.ts'
import type { ServedDomains } from './served-domains.ts'

declare module '../../core/events.ts' {
  interface DomainEvents {
    /** A game is served at another set of domains, or has another main domain. */
    'domain.changed': { gameId: string }
  }
}

export type DomainsParts = Pick<
  FastifyInstance,
  'db' | 'clock' | 'config' | 'events' | 'games' | 'identity' | 'log' | 'origins' | 'rateLimiter'
>

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** The time after which an unverified domain is deleted. */
const FORGET_MS = 30 * DAY_MS
/** The number of domains that one run checks: in total, of one owner, and concurrently. */
const A_RUN = 500
const AN_OWNER = 50
const AT_ONCE = 10

/**
 * Checks domains against the DNS, at once when their owner asks and repeatedly in the background.
 *
 * When the proof of a domain disappears, the game keeps it for some days and the owner is told. Only an answer of the
 * DNS counts, never a missing answer. A player who proves a domain whose holder no longer can gets it at once.
 */
export class DnsChecks {
  readonly #parts: DomainsParts
  readonly #dns: DomainDns
  readonly #served: ServedDomains
  readonly #graceMs: number

  constructor(
    parts: DomainsParts,
    { served, resolvers, graceMs }: { served: ServedDomains; resolvers: readonly string[]; graceMs: number },
  ) {
    this.#parts = parts
    this.#served = served
    this.#dns = new DomainDns(resolvers)
    this.#graceMs = graceMs
  }

  /** Checks the domains that are due, at most `A_RUN`. */
  async run(signal: AbortSignal): Promise<void> {
    const { db, clock, log } = this.#parts
    const now = clock.now()
    const forgotten = { provedName: null, pendingSince: { $lt: new Date(now.getTime() - FORGET_MS) } }
    await db.em().nativeDelete(GameDomain, forgotten)
    // Owners take turns, since the DNS of a domain answers as slowly as its owner likes.
    const due = await db.query<{ id: string }>(
      `select id from (
         select d.id, d.next_check_at,
           row_number() over (partition by g.owner_id order by d.next_check_at, d.id) as turn
         from game_domains d left join games g on g.id = d.game_id where d.next_check_at <= ?
       ) as due where turn <= ${AN_OWNER} order by turn, next_check_at, id limit ${A_RUN}`,
      [now],
    )
    const waiting = due.values()
    const work = async () => {
      for (const { id } of waiting) {
        if (signal.aborted) return
        await this.check(id, true).catch((err) => log.error({ err, domain: id }, 'checking a domain failed'))
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
  }

  /**
   * Checks one domain and records the result.
   *
   * @param unasked true for a background check, which also notifies the owner of a success
   */
  async check(id: string, unasked = false): Promise<void> {
    const { db, games, origins } = this.#parts
    const row = await db.em().findOne(GameDomain, { id })
    const game = row && (await games.byId(row.gameId))
    if (!row) return
    // A deleted game can be restored. Until then its domain serves nothing.
    if (!game) return this.#noteNext(row, { nextCheckAt: this.#in(DAY_MS) })
    const [proof, address] = await Promise.all([
      this.#dns.proofOf(row.name, row.token),
      this.#dns.addressOf(row.name, gameNameOf(game, origins)),
    ])
    if (proof === 'unreachable') return this.#noteNext(row, { proof, address })
    if (proof !== 'found') {
      await this.#noteNext(row, { proof, address })
      return row.provedName == null ? undefined : this.#missing(row, game)
    }
    if (row.provedName != null) return this.#noteNext(row, { proof, address, failingSince: null })
    await this.#prove(row, game, { address, unasked })
  }

  /** Removes a domain from its game. */
  async remove({ id, gameId, provedName }: GameDomain, also?: (em: SqlEntityManager) => Promise<void>): Promise<void> {
    await this.#parts.db.transaction(async (em) => {
      await em.nativeDelete(GameDomain, { id })
      await also?.(em)
    })
    if (provedName != null) await this.announce(gameId)
  }

  /** Notifies every node of a change, after its transaction. On this node it is effective when this resolves. */
  async announce(gameId: string): Promise<void> {
    const { events, games } = this.#parts
    await this.#served.read()
    await events.emit('domain.changed', { gameId })
    const game = await games.byId(gameId)
    if (!game) return
    await events.emit('app.changed', { clientId: game.clientId, gameId })
    await games.announce(game)
  }

  /** Assigns a verified domain to the game, unless another game has it and can verify it too. */
  async #prove(
    row: GameDomain,
    game: Game,
    { address, unasked }: { address: AddressFound; unasked: boolean },
  ): Promise<void> {
    const { db, clock, identity } = this.#parts
    await this.#displace(row)
    const now = clock.now()
    const proved = { proof: 'found' as const, address, provedName: row.name, verifiedAt: now, failingSince: null }
    try {
      const won = await db.transaction(async (em) => {
        const rows = await em.nativeUpdate(
          GameDomain,
          { id: row.id, provedName: null },
          { ...proved, checkedAt: now, nextCheckAt: this.#in(DAY_MS), updatedAt: now },
        )
        if (rows === 0) return false // a concurrent check was faster
        await recordActivity(em, clock, { gameId: game.id, action: 'domain.verify', target: row.name })
        const notice = unasked && verifiedNotice(this.#about(row, game))
        if (notice) await identity.tell(em, game.ownerId, notice.subject, notice.text)
        return true
      })
      if (won) await this.announce(game.id)
    } catch (error) {
      if (!isUniqueViolation(error)) throw error
      await this.#noteNext(row, { proof: 'taken', address })
    }
  }

  /** Ends the claim of a game that has a domain and can't verify it any more. */
  async #displace({ id, name }: GameDomain): Promise<void> {
    const holder = await this.#parts.db.em().findOne(GameDomain, { provedName: name, id: { $ne: id } })
    if (!holder) return
    const game = await this.#parts.games.byId(holder.gameId)
    const proof = game ? await this.#dns.proofOf(name, holder.token) : 'missing'
    if (proof === 'missing' || proof === 'wrong') await this.#release(holder, game)
  }

  /** Handles the missing proof of a domain in use. */
  async #missing(row: GameDomain, game: Game): Promise<void> {
    const { db, clock, identity } = this.#parts
    const now = clock.now()
    const since = row.failingSince ?? now
    const offAt = new Date(since.getTime() + this.#graceMs)
    if (offAt <= now) return this.#release(row, game)
    await db.transaction(async (em) => {
      const rows = await em.nativeUpdate(GameDomain, { id: row.id, failingSince: null }, { failingSince: now })
      const { subject, text } = failingNotice(this.#about(row, game), offAt)
      if (rows === 1) await identity.tell(em, game.ownerId, subject, text)
    })
  }

  async #release(row: GameDomain, game: Game | null): Promise<void> {
    const { db, clock, identity } = this.#parts
    const now = clock.now()
    const released = await db.transaction(async (em) => {
      const rows = await em.nativeUpdate(
        GameDomain,
        { id: row.id, provedName: row.name },
        {
          provedName: null,
          isPrimary: false,
          failingSince: null,
          verifiedAt: null,
          pendingSince: now,
          nextCheckAt: this.#in(HOUR_MS),
          updatedAt: now,
        },
      )
      if (rows === 0 || !game) return rows === 1
      const { subject, text }: Notice = offNotice(this.#about(row, game))
      await identity.tell(em, game.ownerId, subject, text)
      return true
    })
    if (released) await this.announce(row.gameId)
  }

  /** Stores the result and the time of the next check, whose interval grows while no change is likely. */
  async #noteNext(row: GameDomain, found: Partial<GameDomain>): Promise<void> {
    const { db, clock } = this.#parts
    const checkedAt = clock.now()
    const waits = checkedAt.getTime() - row.pendingSince.getTime()
    const soon = waits < 2 * HOUR_MS ? 5 * MINUTE_MS : waits < 7 * DAY_MS ? HOUR_MS : DAY_MS
    const proved = row.provedName != null
    const nextCheckAt = this.#in(!proved ? soon : found.proof === 'found' ? DAY_MS : HOUR_MS)
    await db.em().nativeUpdate(GameDomain, { id: row.id }, { checkedAt, nextCheckAt, ...found } as never)
  }

  #about({ name }: GameDomain, game: Game) {
    return { name, game, page: `${game.manageUrl}/domains` }
  }

  #in(ms: number): Date {
    return new Date(this.#parts.clock.now().getTime() + ms)
  }
}
