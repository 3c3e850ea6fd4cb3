import { LockMode } from '@mikro-orm/core'
import { PROGRAM, recordAction } from '../../core/data/audit.ts'
import { isUniqueViolation } from '../../core/data/database.ts'
import { NotFound } from '../../core/errors.ts'
import { cutPage, mustBeCursor, type PageQuery } from '../../core/http/pagination.ts'
import { newId, randomText } from '../../core/ids.ts'
import { STAFF } from '../../core/observe/author.ts'
import { type Game, recordActivity } from '../games/index.ts'
import { DnsChecks, type DomainsParts } from './dns-checks.ts'
import { type DomainName, plainName, readDomainName } from './domain-name.ts'
import { GameDomain } from './entities.ts'
import {
  DomainNotVerified,
  DomainsNotConfigured,
  DomainTaken,
  DomainThere,
  GameElsewhere,
  TooManyDomains,
} from './errors.ts'
import { toDomain } from './record.ts'
import type { Domain, DomainsConfig } from './schemas.ts'
import { ServedDomains } from './served-domains.ts'

/** The maximum number of requested DNS checks per minute and domain. */
const CHECKS_A_MINUTE = 10

/**
 * Custom domains of games.
 *
 * A player proves control of a domain with a TXT record in its DNS. Until the record is found the game is not served
 * there. Anybody may request any name, and a request without proof blocks nobody else. A domain belongs to one game at
 * a time.
 */
export class Domains {
  /** The map from domains to games in this node's memory. */
  readonly served: ServedDomains
  readonly checks: DnsChecks
  readonly #parts: DomainsParts
  readonly #perGame: number
  readonly #graceMs: number

  constructor(parts: DomainsParts, { resolvers, graceDays }: DomainsConfig, perGame: number) {
    this.#parts = parts
    this.#perGame = perGame
    this.#graceMs = graceDays * 86_400_000
    this.served = new ServedDomains(parts)
    this.checks = new DnsChecks(parts, { served: this.served, resolvers, graceMs: this.#graceMs })
  }

  /** Whether games have names rather than ports. */
  get possible(): boolean {
    return !this.#parts.origins.byPort
  }

  /** Lists the domains of a player's own game, in the order in which they were added. @throws NotFound */
  async list(playerId: string, gameId: string): Promise<Domain[]> {
    const game = await this.#parts.games.mustMake(playerId, gameId)
    const rows = await this.#parts.db.em().find(GameDomain, { gameId: game.id }, { orderBy: { id: 'asc' } })
    return rows.map((row) => this.#toDomain(row, game))
  }

  /**
   * Requests a domain; the game gets it once its DNS records are found.
   *
   * @throws InvalidRequest, DomainReserved for names that are not available
   * @throws DomainThere, TooManyDomains, GameElsewhere, DomainsNotConfigured, NotFound
   */
  async add(playerId: string, gameId: string, typed: string): Promise<Domain> {
    const { db, clock, config, games, origins } = this.#parts
    if (!this.possible) throw new DomainsNotConfigured()
    const game = await games.mustMake(playerId, gameId)
    if (!game.hosted) throw new GameElsewhere()
    const domain = await readDomainName(typed, origins, config.games.allowSameSite)
    const row = this.#newRow(game, domain)
    try {
      await db.transaction(async (em) => {
        // The lock makes a concurrent call count this domain too.
        await em.find(GameDomain, { gameId: game.id }, { fields: ['id'], lockMode: LockMode.PESSIMISTIC_WRITE })
        await em.insert(GameDomain, row)
        if ((await em.count(GameDomain, { gameId: game.id })) > this.#perGame) throw new TooManyDomains(this.#perGame)
        await recordActivity(em, clock, { gameId: game.id, action: 'domain.add', target: domain.name })
      })
    } catch (error) {
      if (isUniqueViolation(error)) throw new DomainThere(domain.name)
      throw error
    }
    return this.#toDomain(await this.#mustFind(game, domain.name), game)
  }

  /**
   * Checks the DNS now, and returns the result.
   *
   * @throws DomainTaken when the proof exists, and so does that of the game that has the domain
   * @throws NotFound, RateLimited
   */
  async verify(playerId: string, gameId: string, typed: string): Promise<Domain> {
    const game = await this.#parts.games.mustMake(playerId, gameId)
    const row = await this.#mustFind(game, typed)
    await this.#parts.rateLimiter.take(`domains/verify/${row.id}`, CHECKS_A_MINUTE, 60_000)
    await this.checks.check(row.id)
    const checked = await this.#mustFind(game, row.name)
    if (checked.proof === 'taken') throw new DomainTaken(row.name)
    return this.#toDomain(checked, game)
  }

  /**
   * Makes a domain the main address of its game, to which all other addresses redirect, or undoes that.
   *
   * @throws DomainNotVerified, NotFound
   */
  async setPrimary(playerId: string, gameId: string, typed: string, primary: boolean): Promise<Domain> {
    const { db, clock, games } = this.#parts
    const game = await games.mustMake(playerId, gameId)
    const { id, name } = await this.#mustFind(game, typed)
    const updatedAt = clock.now()
    await db.transaction(async (em) => {
      // The update locks all rows of the game, so that concurrent calls run one after the other.
      await em.nativeUpdate(GameDomain, { gameId: game.id }, { updatedAt })
      const proved = await em.count(GameDomain, { id, provedName: name })
      if (primary && proved === 0) throw new DomainNotVerified(name)
      if (primary) await em.nativeUpdate(GameDomain, { gameId: game.id, isPrimary: true }, { isPrimary: false })
      await em.nativeUpdate(GameDomain, { id }, { isPrimary: primary })
      const detail = primary ? null : 'no longer the main one'
      await recordActivity(em, clock, { gameId: game.id, action: 'domain.primary', target: name, detail })
    })
    await this.checks.announce(game.id)
    return this.#toDomain(await this.#mustFind(game, name), game)
  }

  /** Removes a domain, at which the game is no longer served. @throws NotFound */
  async remove(playerId: string, gameId: string, typed: string): Promise<void> {
    const game = await this.#parts.games.mustMake(playerId, gameId)
    const row = await this.#mustFind(game, typed)
    await this.checks.remove(row, (em) =>
      recordActivity(em, this.#parts.clock, { gameId: game.id, action: 'domain.remove', target: row.name }),
    )
  }

  /** Lists all domains for administrators, the newest first. */
  async all({ limit, cursor }: PageQuery): Promise<{ domains: HostedDomain[]; nextCursor: string | null }> {
    const { db, games, origins } = this.#parts
    const before = mustBeCursor('dom', cursor)
    const where = before ? { id: { $lt: before } } : {}
    const rows = await db.em().find(GameDomain, where, { orderBy: { id: 'desc' }, limit: limit + 1 })
    const { page, nextCursor } = cutPage(rows, limit)
    const found = await games.byIds([...new Set(page.map(({ gameId }) => gameId))])
    const byId = new Map(found.map((game) => [game.id, game]))
    const domains = page.map((row) => {
      const game = byId.get(row.gameId) ?? null
      return { id: row.id, game, ...toDomain(row, game ?? { slug: 'deleted' }, origins, this.#graceMs) }
    })
    return { domains, nextCursor }
  }

  /** Removes any domain. @throws NotFound */
  async removeById(id: string, by = PROGRAM): Promise<string> {
    const row = await this.#parts.db.em().findOne(GameDomain, { id })
    if (!row) throw new NotFound('domain')
    await this.checks.remove(row, async (em) => {
      const before = { name: row.name, game: row.gameId }
      await recordAction(em, this.#parts.clock, { by, action: 'domain.remove', target: { kind: 'domain', id }, before })
      const change = { gameId: row.gameId, action: 'domain.remove', target: row.name } as const
      await recordActivity(em, this.#parts.clock, change, STAFF)
    })
    return row.name
  }

  #newRow(game: Game, { name, isApex }: DomainName) {
    const now = this.#parts.clock.now()
    return {
      id: newId('dom', now),
      gameId: game.id,
      name,
      provedName: null,
      token: randomText(24),
      isApex,
      isPrimary: false,
      proof: null,
      address: null,
      checkedAt: null,
      nextCheckAt: now,
      pendingSince: now,
      verifiedAt: null,
      failingSince: null,
      createdAt: now,
      updatedAt: now,
    }
  }

  async #mustFind(game: Game, typed: string): Promise<GameDomain> {
    const name = plainName(typed)
    const row = name && (await this.#parts.db.em().findOne(GameDomain, { gameId: game.id, name }))
    if (!row) throw new NotFound('domain')
    return row
  }

  #toDomain(row: GameDomain, game: Game): Domain {
    return toDomain(row, game, this.#parts.origins, this.#graceMs)
  }
}

/** A domain with its game; null when the game was deleted. */
export type HostedDomain = Domain & { id: string; game: Game | null }
