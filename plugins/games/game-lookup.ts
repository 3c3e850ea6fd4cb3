import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import type { Parameter, Statements } from '../../core/data/database.ts'
import { TtlCache } from '../../core/data/ttl-cache.ts'
import { NotFound } from '../../core/errors.ts'
import { cutPage, inPages, mustBeCursor, type PageQuery } from '../../core/http/pagination.ts'
import { isId } from '../../core/ids.ts'
import { SLUG_REST_MS } from './addresses/slugs.ts'
import { GameRow } from './entities.ts'
import { OwnerOnly, Suspended } from './errors.ts'
import { allows, type GameAction, type GameRole, roleOf } from './members/roles.ts'
import { readGames } from './read-games.ts'
import { mustStillBeOpen, mustStillMay, mustStillPlay } from './recheck.ts'
import { isReady } from './record.ts'
import type { Game } from './schemas.ts'
import { isShown, MADE } from './visibility.ts'

/** The maximum number of games in the list of a tester. */
const MOST_TESTED = 100

declare module '../../core/events.ts' {
  interface DomainEvents {
    /** A game was created, changed, put live or deleted. `previousSlug` is set if its slug changed. */
    'game.changed': { gameId: string; slug: string; previousSlug?: string }
  }
}

/** The dependencies of games. */
export type GamesParts = Pick<
  FastifyInstance,
  | 'db'
  | 'quotas'
  | 'clock'
  | 'config'
  | 'events'
  | 'origins'
  | 'identity'
  | 'gamePorts'
  | 'storage'
  | 'keys'
  | 'log'
  | 'rateLimiter'
  | 'workerPrograms'
  | 'site'
>

/** The dependencies of lookups. A shell command has only these. */
export type LookupParts = Pick<GamesParts, 'db' | 'clock' | 'events' | 'origins'>

/**
 * Finds games, and announces their changes. There are four views of games: `isShown`, `shown` and `shownIn` of everybody
 * (as are the lists of `Catalog`), `mustSee`, `seenBy` and `mustPlay` of a viewer, `mustTest`, `mustMake`, `mustOwn`,
 * `isMaker` and `list` of its members, and `evenDeleted` of the staff. `get`, `byId`, `byIds`, `bySlug`, `byClient` and `movedFrom` find every game that is not
 * deleted, for the platform's own work; what they return is shown to nobody without one of the views.
 */
export class GameLookup {
  /** Whether a deploy of a game is served as a preview. The plugin that owns deploys sets this; by default none is. */
  hasPreview: (gameId: string, short: string) => Promise<boolean> = async () => false
  readonly #parts: LookupParts
  readonly #bySlug: TtlCache<Game>

  constructor(parts: LookupParts) {
    this.#parts = parts
    this.#bySlug = new TtlCache(parts.clock)
    parts.events.on('game.changed', ({ slug, previousSlug }) => {
      this.#bySlug.drop(slug)
      if (previousSlug) this.#bySlug.drop(previousSlug)
    })
  }

  /** Finds a game. @param idOrSlug either is accepted wherever a game is named @throws NotFound */
  async get(idOrSlug: string): Promise<Game> {
    const game = isId('gam', idOrSlug) ? await this.byId(idOrSlug) : await this.#one('g.slug = ?', [idOrSlug])
    if (!game) throw new NotFound('game')
    return game
  }

  /** Returns the game of a slug, or null. It is cached for at most 5 s; `game.changed` invalidates it on this node. */
  bySlug(slug: string): Promise<Game | null> {
    return this.#bySlug.get(slug, () => this.#one('g.slug = ?', [slug]))
  }

  /** Returns the existing games of these ids, unordered. */
  async byIds(ids: readonly string[]): Promise<Game[]> {
    if (ids.length === 0) return []
    const where = `g.id in (${ids.map(() => '?').join(', ')})`
    return readGames(this.#parts, { where, order: 'g.id desc', values: ids, limit: ids.length })
  }

  /** Returns the game of an id from the database, or null. */
  byId(id: string): Promise<Game | null> {
    return this.#one('g.id = ?', [id])
  }

  /** Whether everybody may see a game: it is public and not suspended. */
  isShown(game: Game): boolean {
    return isShown(game)
  }

  /** Returns those of these games that everybody may see, unordered. */
  async shown(ids: readonly string[]): Promise<Game[]> {
    return (await this.byIds(ids)).filter(isShown)
  }

  /** Returns those of these games that a player may see and that are not suspended, by id. */
  async seenBy(playerId: string, ids: readonly string[]): Promise<ReadonlyMap<string, Game>> {
    const games = (await this.byIds(ids)).filter((game) => !game.suspended && this.visibleTo(playerId, game))
    return new Map(games.map((game) => [game.id, game]))
  }

  /**
   * Finds a game for a viewer, who is null when nobody is signed in.
   *
   * @throws NotFound also for a private game that the viewer may not see
   * @throws Suspended for everybody but its makers
   */
  async mustSee(viewerId: string | null, idOrSlug: string): Promise<Game> {
    return this.mustBeSeenBy(viewerId, await this.get(idOrSlug))
  }

  /** Does the same with a game that was looked up by something else. @throws as `mustSee` */
  mustBeSeenBy(viewerId: string | null, game: Game | null): Game {
    if (!game || !this.visibleTo(viewerId, game)) throw new NotFound('game')
    if (game.suspended && !this.may(viewerId, game, 'make')) throw new Suspended()
    return game
  }

  /**
   * Finds a game that a player may play now: its makers can't play a suspended one either. All further transactions of
   * the request check it again.
   *
   * @throws NotFound, Suspended
   */
  mustPlay(playerId: string, found: Game | null): Game {
    const game = this.mustBeSeenBy(playerId, found)
    if (game.suspended) throw new Suspended()
    this.recheckPlay(playerId, game.id)
    return game
  }

  /** Makes all further transactions of the request check that a player may still play a game. */
  recheckPlay(playerId: string, gameId: string): void {
    this.#parts.db.recheck(`play ${gameId}`, (statements) =>
      mustStillPlay(this.#parts.db, statements, gameId, playerId),
    )
  }

  /**
   * Checks a game in a transaction of several callers, such as a batch of scores.
   *
   * @throws NotFound for a deleted game; Suspended
   */
  mustStillBeOpen(statements: Statements, gameId: string): Promise<void> {
    return mustStillBeOpen(this.#parts.db, statements, gameId)
  }

  /** Does the same as `shown` in the caller's transaction, for changes that depend on it. */
  async shownIn(em: SqlEntityManager, ids: readonly string[]): Promise<ReadonlySet<string>> {
    const shown = { id: { $in: [...ids] }, visibility: 'public', suspendedAt: null, deletedAt: null } as const
    return new Set((await em.find(GameRow, shown, { fields: ['id'] })).map(({ id }) => id))
  }

  /** Returns a game of an id, also one that is deleted and can be restored; null when there is none. For staff only. */
  async evenDeleted(id: string): Promise<(Game & { isDeleted: boolean }) | null> {
    return (await this.byIdsEvenDeleted([id])).get(id) ?? null
  }

  /** Does the same for several ids. @returns the existing games by id */
  async byIdsEvenDeleted(ids: readonly string[]): Promise<ReadonlyMap<string, Game & { isDeleted: boolean }>> {
    if (ids.length === 0) return new Map()
    const where = `g.id in (${ids.map(() => '?').join(', ')})`
    const query = { where, order: 'g.id desc', values: ids, limit: ids.length, deleted: true }
    const [deleted, others] = await Promise.all([readGames(this.#parts, query), this.byIds(ids)])
    const marked = (games: Game[], isDeleted: boolean) =>
      games.map((game) => [game.id, { ...game, isDeleted }] as const)
    return new Map([...marked(others, false), ...marked(deleted, true)])
  }

  /** Returns the game of an OAuth application, or null. */
  byClient(clientId: string): Promise<Game | null> {
    return this.#one('g.client_id = ?', [clientId])
  }

  /**
   * Whether the game of an application, or a game to which its owner has linked it, is suspended. A deleted game stays
   * suspended. It reads the database each time, so the next request after a suspension is refused.
   */
  async isSuspended({ clientId, gameId }: { clientId: string; gameId: string | null }): Promise<boolean> {
    const rows = await this.#parts.db.query(
      `select 1 as suspended from games where suspended_at is not null and (client_id = ?${gameId ? ' or id = ?' : ''})`,
      gameId ? [clientId, gameId] : [clientId],
    )
    return rows.length > 0
  }

  /**
   * Returns the game that had this slug in the last 90 days; null when there is none. Its former addresses redirect to
   * the current one.
   */
  movedFrom(slug: string): Promise<Game | null> {
    const rested = new Date(this.#parts.clock.now().getTime() - SLUG_REST_MS)
    return this.#one(
      'g.slug <> ? and g.id = (select s.game_id from game_slugs s where s.slug = ? and s.freed_at > ?)',
      [slug, slug, rested],
    )
  }

  /** Returns what a player is in a game; null for a visitor and for everybody else. */
  roleOf(playerId: string | null, game: Game): GameRole | null {
    return roleOf(playerId, game)
  }

  /** Whether a player, or a visitor (null), may do something with a game beyond what everybody may. */
  may(playerId: string | null, game: Game, action: GameAction): boolean {
    return allows(roleOf(playerId, game), action)
  }

  /** Whether a player makes the game of an id, as its owner or beside them; false for a deleted game. */
  async isMaker(playerId: string, gameId: string): Promise<boolean> {
    const game = await this.byId(gameId)
    return game !== null && this.may(playerId, game, 'make')
  }

  /**
   * Returns a game that the player makes, as its owner or beside them. All further transactions of the request check
   * again that the player does, that the game is not deleted, and that it has the same owner.
   *
   * @throws NotFound also for another player's game, so that its existence stays hidden
   */
  mustMake(playerId: string, idOrSlug: string): Promise<Game> {
    return this.#mustBeAllowed(playerId, idOrSlug, 'make')
  }

  /** Does the same for a game that the player makes or tests. @throws NotFound */
  mustTest(playerId: string, idOrSlug: string): Promise<Game> {
    return this.#mustBeAllowed(playerId, idOrSlug, 'test')
  }

  /**
   * Does the same for what only the owner may do.
   *
   * @throws NotFound as `mustMake`; OwnerOnly for the other makers of the game
   */
  mustOwn(playerId: string, idOrSlug: string): Promise<Game> {
    return this.#mustBeAllowed(playerId, idOrSlug, 'own')
  }

  async #mustBeAllowed(playerId: string, idOrSlug: string, action: GameAction): Promise<Game> {
    const game = await this.get(idOrSlug)
    if (!this.may(playerId, game, action)) {
      throw this.may(playerId, game, 'make') ? new OwnerOnly() : new NotFound('game')
    }
    const { db } = this.#parts
    const check = { gameId: game.id, playerId, action, ownerId: game.ownerId }
    db.recheck(`${action} ${game.id}`, (statements) => mustStillMay(db, statements, check))
    return game
  }

  /**
   * Returns a game of the player, also one that is deleted and can be restored.
   *
   * @throws NotFound, OwnerOnly as `mustOwn`
   */
  async mustOwnEvenDeleted(playerId: string, idOrSlug: string): Promise<Game> {
    const query = { where: 'g.owner_id = ? and (g.id = ? or g.slug = ?)', order: 'g.id desc', limit: 1 }
    const values = [playerId, idOrSlug, idOrSlug]
    for (const deleted of [false, true]) {
      const [game] = await readGames(this.#parts, { ...query, values, deleted })
      if (game) return game
    }
    // The error differs for the other makers of the game, who know that it exists.
    return this.mustOwn(playerId, idOrSlug)
  }

  /** Whether a player, or a visitor (null), may see a game while it is not suspended. */
  visibleTo(playerId: string | null, game: Game): boolean {
    if (game.visibility === 'public') return true
    return this.may(playerId, game, 'test')
  }

  /** Whether the game is playable: it has a live build here, or an external address. */
  isReady(game: Game): boolean {
    return isReady(game)
  }

  /** Lists the games that a player makes, newest first; with `deleted` those that the player can still restore. */
  async list(
    playerId: string,
    { limit, cursor }: PageQuery,
    { deleted = false } = {},
  ): Promise<{ games: Game[]; nextCursor: string | null }> {
    const before = mustBeCursor('gam', cursor)
    const [made, values] = deleted ? ['g.owner_id = ?', [playerId]] : [MADE, [playerId, playerId]]
    const games = await readGames(this.#parts, {
      where: `${made}${before ? ' and g.id < ?' : ''}`,
      order: 'g.id desc',
      values: before ? [...values, before] : values,
      limit: limit + 1,
      deleted,
    })
    const { page, nextCursor } = cutPage(games, limit)
    return { games: page, nextCursor }
  }

  /** Returns the games that a player tests, the newest first, 100 at most. */
  async tested(playerId: string): Promise<Game[]> {
    const games = await readGames(this.#parts, {
      from: 'game_members m join games g on g.id = m.game_id',
      where: "m.player_id = ? and m.role = 'tester'",
      order: 'g.id desc',
      values: [playerId],
      limit: MOST_TESTED,
    })
    // A node with an earlier version of the program ends a membership without this row.
    return games.filter((game) => this.roleOf(playerId, game) === 'tester')
  }

  /** Returns all of the owner's games in pages, for their data export. */
  export(ownerId: string): AsyncGenerator<Game[]> {
    const about = { where: 'g.owner_id = ? and g.id > ?', order: 'g.id' }
    return inPages<Game>((after, limit) =>
      readGames(this.#parts, { ...about, values: [ownerId, after?.id ?? ''], limit }),
    )
  }

  /** Notifies every node of a changed game, after the transaction. @param slugBefore the former slug if it changed */
  async announce({ id, slug }: Pick<Game, 'id' | 'slug'>, slugBefore = slug): Promise<void> {
    const moved = slugBefore === slug ? {} : { previousSlug: slugBefore }
    await this.#parts.events.emit('game.changed', { gameId: id, slug, ...moved })
  }

  async #one(where: string, values: readonly Parameter[]): Promise<Game | null> {
    const [game] = await readGames(this.#parts, { where, order: 'g.id desc', values, limit: 1 })
    return game ?? null
  }
}
