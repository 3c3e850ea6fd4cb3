import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Suspensions } from '../../core/data/staff/suspensions.ts'
import { InvalidRequest, invalidField, NotFound } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import { storedTags } from '../../core/tags.ts'
import { visibleText } from '../../core/visible-text.ts'
import { callbacksBelow, redirectUriOf } from '../oauth-idp/index.ts'
import { Activity } from './activity/activity.ts'
import { changedFields, fieldsOf, recordActivity } from './activity/record.ts'
import { isHome } from './addresses/own-addresses.ts'
import { openPort, reopenPorts } from './addresses/ports.ts'
import { chooseSlug, claimSlug, moveSlug, mustHaveSlugsLeft, slugFrom } from './addresses/slugs.ts'
import { Administration } from './administration.ts'
import { Counts } from './analytics/counts.ts'
import { Playing } from './analytics/playing.ts'
import { readAnalytics } from './analytics/read.ts'
import { Approvals } from './approvals.ts'
import { Cards } from './cards/cards.ts'
import { Catalog } from './catalog/catalog.ts'
import { indexFeatures, indexGame } from './catalog/search-index.ts'
import { Dashboard, type PageSection } from './dashboard.ts'
import { GameDeletion } from './deletion.ts'
import { GameRow } from './entities.ts'
import { NotBasedOnLive, OwnerOnly } from './errors.ts'
import { featuresWith } from './features/features.ts'
import { GameLookup, type GamesParts } from './game-lookup.ts'
import { Invitations } from './invitations.ts'
import { Media } from './media/media.ts'
import { kindOf } from './media/record.ts'
import { HandOver } from './members/hand-over.ts'
import { MemberInvitations } from './members/invitations.ts'
import { Members } from './members/members.ts'
import { Ownership } from './members/ownership.ts'
import { Transfers } from './members/transfers.ts'
import { integrationPrompt } from './pages/integration-prompt.ts'
import {
  type Analytics,
  type AnalyticsQuery,
  type CreatedGame,
  DEFAULT_SETTINGS,
  type DeletionQuery,
  type Game,
  type GameChanges,
  type GamesLimits,
  MOST_ROOM_PLAYERS,
  type NewGame,
} from './schemas.ts'
import { settingsWith } from './settings.ts'
import { suspensionsOfGames } from './suspension.ts'

interface Creation {
  also?: (em: SqlEntityManager, gameId: string) => Promise<void>
}

/** Finds, creates and changes games, and contains the parts of the plugin. */
export class Games extends GameLookup {
  /** The additions of plugins to the owner's pages. */
  readonly dashboard = new Dashboard()
  /** The additions of plugins to the public pages of games. */
  readonly pageSections: PageSection[] = []
  /** Counts plays and sign-ins; see `Counts`. */
  readonly count: Counts
  /** Who changed games, and when. */
  readonly activity: Activity
  readonly media: Media
  /** The preview images of shared links. */
  readonly cards: Cards
  readonly catalog: Catalog
  readonly playing: Playing
  readonly administration: Administration
  readonly deletion: GameDeletion
  readonly invitations: Invitations
  readonly members: Members
  readonly memberInvitations: MemberInvitations
  readonly ownership: Ownership
  readonly transfers: Transfers
  readonly handOver: HandOver
  readonly suspensions: Suspensions<Game>
  readonly approvals: Approvals
  /** The number of players that any room of this server admits; the plugin of the rooms sets it. */
  mostRoomPlayers = MOST_ROOM_PLAYERS
  readonly #parts: GamesParts
  readonly #limits: GamesLimits

  constructor(parts: GamesParts, limits: GamesLimits) {
    const { db, clock, config, log, keys, quotas, storage, origins, site, workerPrograms } = parts
    super(parts)
    this.#parts = parts
    this.#limits = limits
    this.count = new Counts({ db, clock, log, key: keys.derive('games/visitors') })
    this.activity = new Activity(parts, limits)
    this.media = new Media({ db, clock, config, quotas, storage, workerPrograms, games: this })
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
    this.deletion = new GameDeletion(parts, this)
    this.members = new Members(parts, this)
    this.invitations = new Invitations(parts, this, this.members)
    this.memberInvitations = new MemberInvitations(parts, this, this.members)
    this.ownership = new Ownership(parts, this, this.members)
    this.transfers = new Transfers(parts, this, { members: this.members, ownership: this.ownership })
    this.suspensions = suspensionsOfGames(parts, this)
    this.handOver = new HandOver(parts, this, {
      members: this.members,
      ownership: this.ownership,
      suspensions: this.suspensions,
    })
    this.approvals = new Approvals(
      {
        db,
        clock,
        origins,
        mode: config.games.publish,
        players: parts.identity.players,
        tell: (em, playerId, subject, text) => parts.identity.tell(em, playerId, subject, text),
      },
      (game) => this.announce(game),
    )
  }

  /** Opens the ports of games that have one. It runs before the server listens. */
  async start(): Promise<void> {
    await reopenPorts(this.#parts)
  }

  /**
   * Creates a game, its slug and its OAuth application in one transaction.
   *
   * @param options.also makes further writes in the same transaction
   * @returns the game with its client secret, which can't be read again
   * @throws InvalidRequest when `url` is no web address, or a language no BCP 47 tag
   * @throws QuotaExceeded when the owner has as many games as one may, those in the trash included
   * @throws SlugReserved, SlugTaken for a `slug` that cannot be had
   * @throws TooManyReserved when addresses of the owner's former games are reserved in too great a number
   */
  async create(ownerId: string, fields: NewGame, { also }: Creation = {}): Promise<CreatedGame> {
    const { db, clock, identity, origins, quotas } = this.#parts
    const createdAt = clock.now()
    const id = newId('gam', createdAt)
    const title = visibleText(fields.title)
    const url = fields.url === undefined ? null : webAddress(fields.url)
    const tags = storedTags(fields.tags ?? [])
    const features = featuresWith(null, fields.features ?? {})
    const oauth = await db.transaction(async (em) => {
      await quotas.admit(em, ownerId, 'gamesPerPlayer')
      await mustHaveSlugsLeft(em, { ownerId, most: this.#limits.reservedSlugsPerPlayer, now: createdAt })
      const requested = fields.visibility ?? 'public'
      const held = await this.approvals.holds(em, ownerId)
      const slug = fields.slug
        ? await chooseSlug(em, fields.slug, id, createdAt)
        : await claimSlug(em, slugFrom(title), id, createdAt)
      const port = await openPort(em, slug, this.#parts)
      const externalUrl = url === null || isHome(origins, slug, url) ? null : url
      const homepageUrl = externalUrl ?? origins.slugOrigin(slug)
      const redirectUri = redirectUriOf(homepageUrl)
      const { clientId, clientSecret } = await identity.apps.create(em, {
        ownerId,
        name: title,
        homepageUrl,
        gameId: id,
        redirectUris: externalUrl === null ? [redirectUri] : callbacksBelow(externalUrl),
        hosted: externalUrl === null,
        addressField: 'url',
      })
      await em.insert(GameRow, {
        id,
        ownerId,
        slug,
        title,
        description: fields.description,
        tags,
        visibility: held ? 'private' : requested,
        playable: true,
        externalUrl,
        clientId,
        liveDeployId: null,
        liveSharedMemory: false,
        port,
        settings: settingsWith(DEFAULT_SETTINGS, fields.settings, this),
        features,
        media: [],
        coverId: null,
        invited: [],
        inviteKey: null,
        plays: 0,
        signIns: 0,
        createdAt,
        updatedAt: createdAt,
        deletedAt: null,
        suspendedAt: null,
        suspensionReason: null,
        suspensionCause: null,
        suspendedWithAccount: null,
        appeal: null,
        approval: held ? 'waiting' : null,
        approvalReason: null,
        requestedVisibility: held ? requested : null,
      })
      await indexGame(em, { id, title, tags })
      await indexFeatures(em, id, features)
      await recordActivity(em, clock, { gameId: id, action: 'game.create', detail: title })
      await also?.(em, id)
      return { clientId, clientSecret, redirectUri }
    })
    const game = await this.get(id)
    await this.announce(game)
    return { ...game, oauth, integrationPrompt: this.integrationPrompt(game) }
  }

  /**
   * Changes a game that the player makes. Its OAuth application follows: its name is the game's title, its redirect URI
   * the game's address.
   *
   * @param gameId id or slug
   * @throws NotFound when the player does not make it
   * @throws OwnerOnly for another slug or url by another maker
   * @throws SlugReserved, SlugTaken, TooManySlugs, TooManyReserved for a new slug
   * @throws InvalidRequest for an invalid url or language, or a cover that is no picture of the game
   */
  async update(playerId: string, gameId: string, changes: GameChanges): Promise<Game> {
    const { db, clock, events, identity, origins, gamePorts, quotas } = this.#parts
    const before = await this.mustMake(playerId, gameId)
    const { id } = before
    if (changes.slug !== undefined && changes.slug !== before.slug) await this.mustOwn(playerId, id)
    const { url, settings, title, slug, coverMediaId, visibility, features, ...plain } = changes
    const now = clock.now()
    const port = await db.transaction(async (em) => {
      // The write locks the row before the read, so that concurrent changes are all kept.
      await em.nativeUpdate(GameRow, { id }, { updatedAt: now })
      const row = await em.findOne(GameRow, { id, deletedAt: null })
      if (!row) throw new NotFound('game')
      const fields = fieldsOf(row)
      const from = row.externalUrl ?? null
      Object.assign(row, plain)
      if (title !== undefined) row.title = visibleText(title)
      if (visibility !== undefined) setVisibility(row, visibility)
      if (plain.tags) row.tags = storedTags(plain.tags)
      if (settings) row.settings = settingsWith(row.settings, settings, this)
      if (features) row.features = featuresWith(row.features ?? null, features)
      if (coverMediaId !== undefined) row.coverId = coverOf(row, coverMediaId)
      const formerSlug = row.slug
      if (url !== undefined) {
        row.externalUrl = url === null || isHome(origins, formerSlug, webAddress(url)) ? null : url
        if ((row.externalUrl ?? null) !== from && row.ownerId !== playerId) throw new OwnerOnly()
      }
      const moves = slug !== undefined && slug !== formerSlug
      if (moves) {
        await quotas.hold(em, playerId)
        await mustHaveSlugsLeft(em, { ownerId: playerId, most: this.#limits.reservedSlugsPerPlayer, now })
        await moveSlug(em, { gameId: id, ownerId: playerId, from: formerSlug, to: slug, now })
        row.slug = slug
      }
      if (moves || url !== undefined) {
        const [own, ...domains] = origins.allOf(formerSlug) as [string, ...string[]]
        // A game keeps its port when its slug changes.
        const home = origins.byPort ? own : origins.slugOrigin(row.slug)
        const to = row.externalUrl ?? null
        await identity.apps.moveApp(em, row.clientId, { from, to, origins: [home, ...domains] })
      }
      if (title !== undefined) await identity.apps.rename(em, row.clientId, row.title)
      if (title !== undefined || plain.tags) await indexGame(em, row)
      if (features && row.features) await indexFeatures(em, id, row.features)
      const detail = changedFields(fields, fieldsOf(row))
      if (detail) await recordActivity(em, clock, { gameId: id, action: 'game.change', detail })
      await em.flush()
      return moves ? (row.port ?? null) : null
    })
    if (port !== null && slug) await gamePorts.assign(slug, port)
    if (slug !== undefined && slug !== before.slug) origins.moveDomains(before.slug, slug)
    const game = await this.get(id)
    await this.announce(game, before.slug)
    if (game.title !== before.title || game.url !== before.url)
      await events.emit('app.changed', { clientId: game.clientId, gameId: id })
    return game
  }

  /**
   * Gives the game's OAuth application a new secret.
   *
   * @param graceSeconds how long the old one stays valid
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

  /** Deletes a game, which can be restored for 30 days, or for good; see `GameDeletion`. @throws as those */
  async remove(
    playerId: string,
    gameId: string,
    { forever = false, confirm = '' }: Partial<DeletionQuery> = {},
  ): Promise<void> {
    if (forever) await this.deletion.removeForGood(playerId, gameId, confirm)
    else await this.deletion.remove(playerId, gameId)
  }

  /** Returns the statistics of a game by day. @throws NotFound, InvalidRequest */
  async analytics(playerId: string, gameId: string, query: AnalyticsQuery): Promise<Analytics> {
    const { id } = await this.mustMake(playerId, gameId)
    // The flush includes the counts of this node in the result.
    await this.count.flush()
    return readAnalytics(this.#parts.db, id, query, this.#parts.clock.now())
  }

  /** Returns instructions for a coding assistant, which contain no secret. */
  integrationPrompt(game: Game): string {
    const { origins } = this.#parts
    return integrationPrompt(game, { redirectUri: redirectUriOf(game.url), origins, more: this.dashboard.integrations })
  }

  /**
   * Sets the deploy that a game is served from, inside the caller's transaction, which holds the game's row until it
   * commits. The caller announces the change after the commit.
   *
   * @param live `sharedMemory`: whether a `.wasm` of the deploy imports or defines shared memory. `expectedLive`: the
   *   deploy, or null, that must be live still; default: any
   * @throws NotFound when the game was deleted meanwhile; NotBasedOnLive when another deploy is live than expected
   */
  async setLive(
    em: SqlEntityManager,
    gameId: string,
    { deployId, sharedMemory, expectedLive }: LiveDeploy,
  ): Promise<void> {
    const rows = await em.nativeUpdate(
      GameRow,
      { id: gameId, deletedAt: null, ...(expectedLive === undefined ? {} : { liveDeployId: expectedLive }) },
      { liveDeployId: deployId, liveSharedMemory: sharedMemory, updatedAt: this.#parts.clock.now() },
    )
    if (rows > 0) return
    const game = await em.findOne(GameRow, { id: gameId, deletedAt: null }, { fields: ['liveDeployId'] })
    throw game ? new NotBasedOnLive(game.liveDeployId ?? 'none') : new NotFound('game')
  }
}

interface LiveDeploy {
  deployId: string
  sharedMemory: boolean
  expectedLive?: string | null | undefined
}

/** A held game stays private. Its new visibility holds from the approval on. */
function setVisibility(row: GameRow, visibility: 'public' | 'private'): void {
  if (row.approval) row.requestedVisibility = visibility
  else row.visibility = visibility
}

/** Returns the cover's id. @throws InvalidRequest if it is no picture of the game */
function coverOf(row: GameRow, mediaId: string | null): string | null {
  const item = row.media.find(({ id }) => id === mediaId)
  if (mediaId === null || (item && kindOf(item.contentType) === 'image')) return mediaId
  throw new InvalidRequest('The cover must be one of the pictures of the game.').with({
    details: [{ path: 'coverMediaId', message: 'is no picture of this game' }],
  })
}

/** Parses a web address. @throws InvalidRequest */
function webAddress(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : null
  if (!parsed) throw invalidField('url', 'The url must be a whole web address, such as https://game.example.org.')
  if (!/^https?:$/.test(parsed.protocol)) throw invalidField('url', 'The url must begin with https://.')
  if (parsed.username || parsed.password) throw invalidField('url', 'The url must have no user name or password in it.')
  return url
}
