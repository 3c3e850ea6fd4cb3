import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import { InvalidRequest, NotFound } from '../../core/errors.ts'
import { isId, newId } from '../../core/ids.ts'
import { cutPage, type PageQuery } from '../../core/pagination.ts'
import { ShortCache } from '../../core/short-cache.ts'
import { GameRow, GameSlug } from './entities.ts'
import { openPort, reopenPorts } from './ports.ts'
import { integrationPrompt } from './prompt.ts'
import { COLUMNS, type PlainGame, toGame } from './record.ts'
import {
  type CatalogQuery,
  type CreatedGame,
  DEFAULT_SETTINGS,
  type Game,
  type GameChanges,
  type GameSettings,
  type NewGame,
  type SettingsChanges,
} from './schemas.ts'
import { indexGame, termOfTag, termsOfQuery } from './search.ts'
import { claimSlug, slugFrom } from './slugs.ts'

/** A page of a game's dashboard, contributed by the plugin that has it. */
export interface GameTab {
  label: string
  /** Path on the portal. */
  href(game: Game): string
  order: number
}

declare module '../../core/events.ts' {
  interface DomainEvents {
    /** A game was made, changed, put live or deleted. `previousSlug` when its slug was another one before. */
    'game.changed': { gameId: string; slug: string; previousSlug?: string }
  }
}

type Parts = Pick<FastifyInstance, 'db' | 'clock' | 'config' | 'events' | 'origins' | 'identity' | 'gamePorts'>

export class Games {
  /** What the dashboard of a game consists of; the owner sees it on every page of the game. */
  readonly tabs: GameTab[] = []
  readonly #parts: Parts
  readonly #bySlug: ShortCache<Game>

  constructor(parts: Parts) {
    this.#parts = parts
    this.#bySlug = new ShortCache(parts.clock)
    parts.events.on('game.changed', ({ slug, previousSlug }) => {
      this.#bySlug.drop(slug)
      if (previousSlug) this.#bySlug.drop(previousSlug)
    })
  }

  /** Opens the ports of the games that have one; before the server listens. */
  async start(): Promise<void> {
    await reopenPorts(this.#parts)
  }

  /**
   * Makes a game, its slug and its OAuth application, all or nothing.
   *
   * @returns the game with its client secret, which can't be read again
   * @throws InvalidRequest when `url` is no web address
   */
  async create(ownerId: string, fields: NewGame): Promise<CreatedGame> {
    const { db, clock, identity, origins } = this.#parts
    const createdAt = clock.now()
    const id = newId('gam', createdAt)
    const title = fields.title.trim()
    const externalUrl = fields.url === undefined ? null : webAddress(fields.url)
    const tags = [...new Set(fields.tags ?? [])]
    const oauth = await db.transaction(async (em) => {
      const slug = await claimSlug(em, slugFrom(title), id, createdAt)
      const port = await openPort(em, slug, this.#parts)
      const homepageUrl = externalUrl ?? origins.game(slug)
      const redirectUri = redirectUriOf(homepageUrl)
      const { clientId, clientSecret } = await identity.apps.create(em, {
        ownerId,
        name: title,
        homepageUrl,
        gameId: id,
        redirectUris: [redirectUri],
        hosted: externalUrl === null,
      })
      await em.insert(GameRow, {
        id,
        ownerId,
        slug,
        title,
        description: fields.description,
        tags,
        visibility: fields.visibility ?? 'public',
        playable: true,
        externalUrl,
        clientId,
        liveDeployId: null,
        port,
        settings: settingsWith(DEFAULT_SETTINGS, fields.settings),
        plays: 0,
        signIns: 0,
        createdAt,
        updatedAt: createdAt,
        deletedAt: null,
      })
      await indexGame(em, { id, title, tags })
      return { clientId, clientSecret, redirectUri }
    })
    const game = await this.get(id)
    await this.announce(game)
    return { ...game, oauth, integrationPrompt: integrationPrompt(game, oauth.redirectUri, origins) }
  }

  /**
   * Changes a game of one's own. A new `url` moves the redirect URI of its sign-in with it.
   *
   * @param gameId id or slug
   * @throws NotFound when it is not the player's
   */
  async update(playerId: string, gameId: string, changes: GameChanges): Promise<Game> {
    const { db, clock, events, identity, origins } = this.#parts
    const { id } = await this.mustOwn(playerId, gameId)
    const { url, settings, title, ...plain } = changes
    await db.transaction(async (em) => {
      // Locked before it is read: what two callers change at once is all kept.
      await em.nativeUpdate(GameRow, { id }, { updatedAt: clock.now() })
      const row = await em.findOne(GameRow, { id, ownerId: playerId, deletedAt: null })
      if (!row) throw new NotFound('game')
      Object.assign(row, plain)
      if (title !== undefined) row.title = title.trim()
      if (plain.tags) row.tags = [...new Set(plain.tags)]
      if (settings) row.settings = settingsWith(row.settings, settings)
      if (url !== undefined) {
        row.externalUrl = url === null ? null : webAddress(url)
        const redirectUri = redirectUriOf(row.externalUrl ?? origins.game(row.slug))
        await identity.apps.setRedirectUris(em, row.clientId, [redirectUri], { hosted: row.externalUrl === null })
      }
      if (title !== undefined || plain.tags) await indexGame(em, row)
      await em.flush()
    })
    const game = await this.get(id)
    await this.announce(game)
    if (url !== undefined) await events.emit('app.changed', { clientId: game.clientId, gameId: id })
    return game
  }

  /**
   * Takes a game away: from now on it is found by nobody. It can be brought back for 30 days, and its slug rests.
   *
   * @throws NotFound when it is not the player's
   */
  async remove(playerId: string, gameId: string): Promise<void> {
    const game = await this.mustOwn(playerId, gameId)
    const deletedAt = this.#parts.clock.now()
    await this.#parts.db.transaction(async (em) => {
      const rows = await em.nativeUpdate(GameRow, { id: game.id, deletedAt: null }, { deletedAt, updatedAt: deletedAt })
      if (rows === 0) throw new NotFound('game')
      await em.nativeUpdate(GameSlug, { slug: game.slug, gameId: game.id }, { freedAt: deletedAt })
    })
    await this.announce(game)
  }

  /** @param idOrSlug both are accepted wherever a game is named  @throws NotFound */
  async get(idOrSlug: string): Promise<Game> {
    const column = isId('gam', idOrSlug) ? 'g.id' : 'g.slug'
    const game = await this.#one(`${column} = ?`, idOrSlug)
    if (!game) throw new NotFound('game')
    return game
  }

  /** The game at a slug, or null; from memory, at most 5 s old, and never older than a `game.changed` heard here. */
  bySlug(slug: string): Promise<Game | null> {
    return this.#bySlug.get(slug, () => this.#one('g.slug = ?', slug))
  }

  /** A game of the player's own. @throws NotFound also when it is another's: nobody learns that it exists */
  async mustOwn(playerId: string, idOrSlug: string): Promise<Game> {
    const game = await this.get(idOrSlug)
    if (game.ownerId !== playerId) throw new NotFound('game')
    return game
  }

  /** Whether a player, or a visitor (null), may know of a game. */
  visibleTo(playerId: string | null, game: Game): boolean {
    return game.visibility === 'public' || game.ownerId === playerId
  }

  /** The owner's games, newest first. */
  async list(ownerId: string, { limit, cursor }: PageQuery): Promise<{ games: Game[]; nextCursor: string | null }> {
    const rows = await this.#select(
      `g.owner_id = ?${cursor ? ' and g.id < ?' : ''}`,
      'g.id desc',
      cursor ? [ownerId, cursor] : [ownerId],
      limit + 1,
    )
    const { page, nextCursor } = cutPage(rows, limit)
    return { games: page.map((row) => toGame(row, this.#parts.origins)), nextCursor }
  }

  /**
   * The public games, newest or most played first.
   *
   * @param ready only those with something to play now
   */
  async catalog(
    { q, tag, sort, limit, cursor }: CatalogQuery,
    { ready = false } = {},
  ): Promise<{ games: Game[]; nextCursor: string | null }> {
    const terms = [...(q ? termsOfQuery(q) : []), ...(tag ? [termOfTag(tag)] : [])]
    const where = ["g.visibility = 'public'", ...terms.map(() => FOUND_BY)]
    const parameters: (string | number)[] = [...terms]
    if (ready) where.push('g.playable = ? and (g.live_deploy_id is not null or g.external_url is not null)')
    const values = ready ? [...parameters, true] : parameters
    if (cursor && sort === 'new') {
      where.push('g.id < ?')
      values.push(cursor)
    }
    if (cursor && sort === 'popular') {
      const [, plays, id] = /^(\d{1,10})\.(gam_\w{26})$/.exec(cursor) ?? []
      if (!plays || !id) throw new InvalidRequest('The cursor is not one of this list.')
      where.push('(g.plays < ? or (g.plays = ? and g.id < ?))')
      values.push(Number(plays), Number(plays), id)
    }
    const order = sort === 'popular' ? 'g.plays desc, g.id desc' : 'g.id desc'
    const rows = await this.#select(where.join(' and '), order, values, limit + 1)
    const page = rows.slice(0, limit)
    const last = rows.length > limit ? page.at(-1) : undefined
    return {
      games: page.map((row) => toGame(row, this.#parts.origins)),
      nextCursor: last ? (sort === 'popular' ? `${last.plays}.${last.id}` : last.id) : null,
    }
  }

  /** What a developer hands to a coding assistant; holds no secret. */
  integrationPrompt(game: Game): string {
    return integrationPrompt(game, redirectUriOf(game.url), this.#parts.origins)
  }

  /**
   * Says which deploy a game is served from, inside the caller's transaction, which from here on is the only one that
   * changes this game. The caller announces it once committed.
   *
   * @throws NotFound when the game was deleted meanwhile
   */
  async setLive(em: SqlEntityManager, gameId: string, deployId: string): Promise<void> {
    const rows = await em.nativeUpdate(
      GameRow,
      { id: gameId, deletedAt: null },
      { liveDeployId: deployId, updatedAt: this.#parts.clock.now() },
    )
    if (rows === 0) throw new NotFound('game')
  }

  /** Tells every node that a game has changed, after the transaction that changed it. */
  async announce({ id, slug }: Pick<Game, 'id' | 'slug'>): Promise<void> {
    await this.#parts.events.emit('game.changed', { gameId: id, slug })
  }

  async #one(condition: string, value: string): Promise<Game | null> {
    const [row] = await this.#select(condition, 'g.id desc', [value], 1)
    return row ? toGame(row, this.#parts.origins) : null
  }

  #select(where: string, order: string, values: readonly (string | number | boolean)[], limit: number) {
    return this.#parts.db.query<PlainGame>(
      `select ${COLUMNS} from games g where ${where} and g.deleted_at is null order by ${order} limit ?`,
      [...values, limit],
    )
  }
}

const FOUND_BY = 'g.id in (select t.game_id from game_terms t where t.term = ?)'

/** The one callback address of a game, on its own origin (contracts, section 5). */
export const redirectUriOf = (url: string): string => `${new URL(url).origin}/auth/service/callback`

/** @throws InvalidRequest */
function webAddress(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : null
  if (parsed && /^https?:$/.test(parsed.protocol) && !parsed.username && !parsed.password) return url
  throw new InvalidRequest('The url is not a web address, such as https://game.example.org.').with({
    details: [{ path: 'url', message: 'must be a web address' }],
  })
}

const settingsWith = (settings: GameSettings, changes: SettingsChanges = {}): GameSettings => ({
  ...settings,
  ...changes,
  multiplayer: { ...settings.multiplayer, ...changes.multiplayer },
})
