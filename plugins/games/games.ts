import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import type { Parameter } from '../../core/database.ts'
import { InvalidRequest, NotFound } from '../../core/errors.ts'
import { isId, newId } from '../../core/ids.ts'
import { cutPage, type PageQuery } from '../../core/pagination.ts'
import { ShortCache } from '../../core/short-cache.ts'
import { Administration } from './administration.ts'
import { Counts } from './analytics/counts.ts'
import { Playing } from './analytics/playing.ts'
import { readAnalytics } from './analytics/read.ts'
import { Cards } from './cards/cards.ts'
import { Catalog } from './catalog.ts'
import { Dashboard } from './dashboard.ts'
import { GameRow } from './entities.ts'
import { Invitations } from './invitations.ts'
import { Media } from './media/media.ts'
import { kindOf } from './media/record.ts'
import { openPort, reopenPorts } from './ports.ts'
import { integrationPrompt } from './prompt.ts'
import { isReady } from './record.ts'
import { Removals } from './removals.ts'
import { readGames } from './rows.ts'
import {
  type Analytics,
  type AnalyticsQuery,
  type CreatedGame,
  DEFAULT_SETTINGS,
  type Game,
  type GameChanges,
  type GameSettings,
  type NewGame,
  type SettingsChanges,
} from './schemas.ts'
import { indexGame } from './search.ts'
import { claimSlug, moveSlug, SLUG_REST_MS, slugFrom } from './slugs.ts'

declare module '../../core/events.ts' {
  interface DomainEvents {
    /** A game was made, changed, put live or deleted. `previousSlug` when its slug was another one before. */
    'game.changed': { gameId: string; slug: string; previousSlug?: string }
  }
}

/** What the games stand on. */
export type GamesParts = Pick<
  FastifyInstance,
  | 'db'
  | 'clock'
  | 'config'
  | 'events'
  | 'origins'
  | 'identity'
  | 'gamePorts'
  | 'storage'
  | 'keys'
  | 'log'
  | 'workerPrograms'
  | 'site'
>

export class Games {
  /** What plugins contribute to the owner's pages. */
  readonly dashboard = new Dashboard()
  /** What happens in games is told here; see `Counts`. */
  readonly count: Counts
  readonly media: Media
  /** The pictures of shared links. */
  readonly cards: Cards
  readonly catalog: Catalog
  readonly playing: Playing
  readonly administration: Administration
  readonly removals: Removals
  readonly invitations: Invitations
  /** Where else a game is served; plugins add theirs. Its sign-in may return there. */
  readonly origins: ((em: SqlEntityManager, gameId: string) => Promise<string[]>)[] = []
  readonly #parts: GamesParts
  readonly #bySlug: ShortCache<Game>

  constructor(parts: GamesParts) {
    const { db, clock, config, log, keys, storage, origins, site, workerPrograms } = parts
    this.#parts = parts
    this.count = new Counts({ db, clock, log, key: keys.derive('games/visitors') })
    this.media = new Media({ db, clock, config, storage, games: this })
    this.cards = new Cards({
      config,
      log,
      origins,
      site,
      workerPrograms,
      picture: (mediaId) => this.media.bytes(mediaId),
    })
    this.catalog = new Catalog(parts)
    this.playing = new Playing(parts)
    this.administration = new Administration(parts, this)
    this.removals = new Removals(parts, this)
    this.invitations = new Invitations(parts, this)
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
      const homepageUrl = externalUrl ?? origins.slugOrigin(slug)
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
        media: [],
        coverId: null,
        invited: [],
        inviteKey: null,
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
   * Changes a game of one's own. Its OAuth application follows: the name its title, the redirect URI its address.
   *
   * @param gameId id or slug
   * @throws NotFound when it is not the player's
   * @throws SlugReserved, SlugTaken, TooManySlugs for a new slug
   * @throws InvalidRequest for a url that is none, or a cover that is no picture of the game
   */
  async update(playerId: string, gameId: string, changes: GameChanges): Promise<Game> {
    const { db, clock, events, identity, origins, gamePorts } = this.#parts
    const before = await this.mustOwn(playerId, gameId)
    const { id } = before
    const { url, settings, title, slug, coverMediaId, ...plain } = changes
    const now = clock.now()
    const port = await db.transaction(async (em) => {
      // Locked before it is read: what two callers change at once is all kept.
      await em.nativeUpdate(GameRow, { id }, { updatedAt: now })
      const row = await em.findOne(GameRow, { id, ownerId: playerId, deletedAt: null })
      if (!row) throw new NotFound('game')
      const from = slug === undefined && url === undefined ? [] : await this.#redirectUrisOf(em, row)
      Object.assign(row, plain)
      if (title !== undefined) row.title = title.trim()
      if (plain.tags) row.tags = [...new Set(plain.tags)]
      if (settings) row.settings = settingsWith(row.settings, settings)
      if (coverMediaId !== undefined) row.coverId = coverOf(row, coverMediaId)
      if (url !== undefined) row.externalUrl = url === null ? null : webAddress(url)
      const formerSlug = row.slug
      const moves = slug !== undefined && slug !== formerSlug
      if (moves) {
        await moveSlug(em, { gameId: id, from: formerSlug, to: slug, now })
        row.slug = slug
      }
      if (moves || url !== undefined) {
        // A port stays the game's own, whatever it is called.
        const { externalUrl } = row
        const to = await this.#redirectUrisOf(em, { id, slug: origins.byPort ? formerSlug : row.slug, externalUrl })
        await identity.apps.moveRedirectUris(em, row.clientId, { from, to, hosted: externalUrl == null })
      }
      if (title !== undefined || plain.tags) await indexGame(em, row)
      await em.flush()
      return moves ? (row.port ?? null) : null
    })
    if (port !== null && slug) await gamePorts.assign(slug, port)
    if (slug !== undefined && slug !== before.slug) origins.moveDomains(before.slug, slug)
    const game = await this.get(id)
    await this.announce(game, before.slug)
    if (game.url !== before.url) await events.emit('app.changed', { clientId: game.clientId, gameId: id })
    if (game.title !== before.title || game.url !== before.url) await this.#renameApp(game)
    return game
  }

  /** Where players come back to: a game here at its own address and its domains, one that lives elsewhere only there. */
  async #redirectUrisOf(
    em: SqlEntityManager,
    { id, slug, externalUrl }: { id: string; slug: string; externalUrl?: string | null | undefined },
  ): Promise<string[]> {
    if (externalUrl != null) return [redirectUriOf(externalUrl)]
    const origins = [this.#parts.origins.slugOrigin(slug)]
    for (const furtherOf of this.origins) origins.push(...(await furtherOf(em, id)))
    return origins.map(redirectUriOf)
  }

  /** What players read when they are asked to sign in to it. */
  async #renameApp(game: Game): Promise<void> {
    const app = await this.#parts.identity.apps.find(game.clientId)
    if (!app) return
    await this.#parts.identity.apps.update(game.ownerId, app.id, { name: game.title, homepageUrl: game.url })
  }

  /**
   * Gives the game's OAuth application a new secret.
   *
   * @param graceSeconds how long the old one still counts
   * @returns the new secret, which can't be read again
   * @throws NotFound when the game is not the player's, or its application was deleted
   */
  async rotateSecret(playerId: string, gameId: string, graceSeconds: number): Promise<CreatedGame['oauth']> {
    const { apps } = this.#parts.identity
    const game = await this.mustOwn(playerId, gameId)
    const app = await apps.find(game.clientId)
    if (!app) throw new NotFound('application of this game')
    const { clientId, clientSecret } = await apps.rotateSecret(playerId, app.id, graceSeconds)
    if (clientSecret === null) throw new NotFound('secret of this game')
    return { clientId, clientSecret, redirectUri: redirectUriOf(game.url) }
  }

  /** Takes a game away, for 30 days so that it can be restored; see `Removals`. @throws NotFound */
  async remove(playerId: string, gameId: string): Promise<void> {
    await this.removals.remove(playerId, gameId)
  }

  /** @param idOrSlug both are accepted wherever a game is named  @throws NotFound */
  async get(idOrSlug: string): Promise<Game> {
    const game = isId('gam', idOrSlug) ? await this.byId(idOrSlug) : await this.#one('g.slug = ?', [idOrSlug])
    if (!game) throw new NotFound('game')
    return game
  }

  /** The game at a slug, or null; from memory, at most 5 s old, and never older than a `game.changed` heard here. */
  bySlug(slug: string): Promise<Game | null> {
    return this.#bySlug.get(slug, () => this.#one('g.slug = ?', [slug]))
  }

  /** The games of these ids that there are, in no order. */
  async byIds(ids: readonly string[]): Promise<Game[]> {
    if (ids.length === 0) return []
    const where = `g.id in (${ids.map(() => '?').join(', ')})`
    return readGames(this.#parts, { where, order: 'g.id desc', values: ids, limit: ids.length })
  }

  /** Whether there is something to play: a live build here, or an address elsewhere. */
  isReady(game: Game): boolean {
    return isReady(game)
  }

  /** The game of an id, or null; as it stands in the database. */
  byId(id: string): Promise<Game | null> {
    return this.#one('g.id = ?', [id])
  }

  /**
   * Where the game is now that had this slug in the last 90 days; null when there is none. Its other addresses lead
   * there meanwhile.
   */
  movedFrom(slug: string): Promise<Game | null> {
    const rested = new Date(this.#parts.clock.now().getTime() - SLUG_REST_MS)
    return this.#one(
      'g.slug <> ? and g.id = (select s.game_id from game_slugs s where s.slug = ? and s.freed_at > ?)',
      [slug, slug, rested],
    )
  }

  /** A game of the player's own. @throws NotFound also when it is another's: nobody learns that it exists */
  async mustOwn(playerId: string, idOrSlug: string): Promise<Game> {
    const game = await this.get(idOrSlug)
    if (game.ownerId !== playerId) throw new NotFound('game')
    return game
  }

  /** Whether a player, or a visitor (null), may know of a game. */
  visibleTo(playerId: string | null, game: Game): boolean {
    if (game.visibility === 'public') return true
    return playerId !== null && (game.ownerId === playerId || game.invitedIds.includes(playerId))
  }

  /** The owner's games, newest first; with `deleted` those that can still be restored. */
  async list(
    ownerId: string,
    { limit, cursor }: PageQuery,
    { deleted = false } = {},
  ): Promise<{ games: Game[]; nextCursor: string | null }> {
    const games = await readGames(this.#parts, {
      where: `g.owner_id = ?${cursor ? ' and g.id < ?' : ''}`,
      order: 'g.id desc',
      values: cursor ? [ownerId, cursor] : [ownerId],
      limit: limit + 1,
      deleted,
    })
    const { page, nextCursor } = cutPage(games, limit)
    return { games: page, nextCursor }
  }

  /** All of the owner's games, for their data export. */
  async export(ownerId: string): Promise<Game[]> {
    return readGames(this.#parts, { where: 'g.owner_id = ?', order: 'g.id', values: [ownerId], limit: 1_000_000 })
  }

  /** What happened in a game, day by day. @throws NotFound, InvalidRequest */
  async analytics(playerId: string, gameId: string, query: AnalyticsQuery): Promise<Analytics> {
    const { id } = await this.mustOwn(playerId, gameId)
    // What this node knows is not to be missing.
    await this.count.flush()
    return readAnalytics(this.#parts.db, id, query, this.#parts.clock.now())
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

  /** Tells every node that a game has changed, after the transaction that changed it. @param slugBefore if it moved */
  async announce({ id, slug }: Pick<Game, 'id' | 'slug'>, slugBefore = slug): Promise<void> {
    const moved = slugBefore === slug ? {} : { previousSlug: slugBefore }
    await this.#parts.events.emit('game.changed', { gameId: id, slug, ...moved })
  }

  async #one(where: string, values: readonly Parameter[]): Promise<Game | null> {
    const [game] = await readGames(this.#parts, { where, order: 'g.id desc', values, limit: 1 })
    return game ?? null
  }
}

/** The one callback address of a game, on its own origin (contracts, section 5). */
export const redirectUriOf = (url: string): string => `${new URL(url).origin}/auth/service/callback`

/** @throws InvalidRequest for what is no picture of the game */
function coverOf(row: GameRow, mediaId: string | null): string | null {
  const item = row.media.find(({ id }) => id === mediaId)
  if (mediaId === null || (item && kindOf(item.contentType) === 'image')) return mediaId
  throw new InvalidRequest('The cover must be one of the pictures of the game.').with({
    details: [{ path: 'coverMediaId', message: 'is no picture of this game' }],
  })
}

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
