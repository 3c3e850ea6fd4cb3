import { timingSafeEqual } from 'node:crypto'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../../../core/clock.ts'
import type { Database } from '../../../core/data/database.ts'
import { NotFound } from '../../../core/errors.ts'
import type { Events } from '../../../core/events.ts'
import { cutPage, inPages, mustBeCursor, type PageQuery } from '../../../core/http/pagination.ts'
import { newId, randomText } from '../../../core/ids.ts'
import { visibleText } from '../../../core/visible-text.ts'
import { AppSuspended } from '../errors.ts'
import { endGrants } from '../oauth/grants.ts'
import type { SigningAlgorithm } from '../oauth/signing-keys.ts'
import { fieldError } from '../players/profile.ts'
import { hashSecret } from '../secret-hash.ts'
import { deleteApp } from './app-deletion.ts'
import { mustHaveRoomForApp } from './app-limit.ts'
import { type ClientRow, clientOf, FIND_CLIENT, type OAuthClient, unstoredClient } from './client.ts'
import { type ChangedApp, OAuthAppRow } from './entities.ts'
import { isMetadataUrl, metadataClientId } from './metadata-url.ts'
import { type HostedGames, type HostedOrigins, type StoredApp, toApp, toApps } from './record.ts'
import { callbacksBelow, checkRedirectUris, isRegistered, redirectUriOf, registeredUris } from './redirect-uris.ts'
import type { App, AppUpdate, AppWithSecret } from './schemas.ts'
import type { SuspendedClients } from './suspended-clients.ts'

declare module '../../../core/events.ts' {
  interface DomainEvents {
    /** The name, addresses or secret of an application changed; or it was deleted; or its owner created it. */
    'app.changed': { clientId: string; gameId: string | null }
  }
}

export interface NewApp {
  ownerId: string
  name: string
  homepageUrl: string | null
  gameId: string | null
  redirectUris: string[]
  /** The application belongs to a game hosted on this platform, so its redirect URIs need no check. */
  hosted?: boolean
  publicClient?: boolean
  /** The field of the caller's request from which the redirect URIs follow, for errors. */
  addressField?: string
  idTokenSignedResponseAlg?: SigningAlgorithm | undefined
}

/** Finds a game by its owner's name for it. @throws NotFound when the game does not belong to this player */
export type GameCheck = (playerId: string, gameId: string) => Promise<{ id: string }>

interface AppsContext {
  db: Database
  clock: Clock
  events: Events
  log: FastifyBaseLogger
  /** Whether the platform is reached over plain HTTP. */
  lan: boolean
  suspendedClients: SuspendedClients
  applicationsPerPlayer: number
}

const LAST_USED_PRECISION_MS = 60_000
const NO_HASH = hashSecret('')

/** OAuth applications, which may redirect players here to sign in. */
export class Apps {
  readonly #context: AppsContext
  #noteRotation: (em: SqlEntityManager, gameId: string) => Promise<void> = async () => {}
  readonly #builtins = new Map<string, OAuthClient>()
  /** The time of the last recorded use in milliseconds, by application. */
  readonly #noted = new Map<string, number>()
  #checkGame: GameCheck = async () => {
    throw new NotFound('game')
  }
  #hosted: HostedGames = { serves: async () => false, originsOf: async () => new Map() }

  constructor(context: AppsContext) {
    this.#context = context
  }

  /** Registers the check for links between applications and games. Without one, no link is allowed. */
  checkGamesWith(check: GameCheck): void {
    this.#checkGame = check
  }

  /** Registers the lookup of games by address. Without one, no address belongs to a game. */
  findGamesWith(hosted: HostedGames): void {
    this.#hosted = hosted
  }

  /** Registers what notes a new secret of a game's application, in the transaction of the change. */
  noteRotationsWith(note: (em: SqlEntityManager, gameId: string) => Promise<void>): void {
    this.#noteRotation = note
  }

  /**
   * Whether an authorization response stays on this platform: it goes to a game, at one of its own addresses here. A game
   * that lives elsewhere has these, too, for a build that is deployed here. Addresses that its owner registers, of a
   * server elsewhere, count as external.
   */
  staysHere(client: OAuthClient, redirectUri: string): Promise<boolean> {
    return this.#hosted.serves(client.clientId, redirectUri)
  }

  /**
   * Whether a redirect URI belongs to a client: its owner registered it, or it is the callback of an origin that now
   * serves the client's game.
   */
  async accepts(client: OAuthClient, redirectUri: string): Promise<boolean> {
    if (isRegistered(redirectUri, client.redirectUris)) return true
    const isCallback = URL.canParse(redirectUri) && redirectUri === redirectUriOf(redirectUri)
    return isCallback && (await this.staysHere(client, redirectUri))
  }

  /** Returns the main origins of games that live here, by client id. */
  async homesOf(clientIds: readonly string[]): Promise<Map<string, string>> {
    const found = await this.#hosted.originsOf(clientIds)
    return new Map([...found].flatMap(([clientId, { main }]) => (main === null ? [] : [[clientId, main]])))
  }

  /**
   * Creates an application for its owner.
   *
   * @throws InvalidRequest for its redirect URIs; NotFound for another player's game; TooManyApplications
   */
  async register(app: NewApp): Promise<AppWithSecret> {
    const game = app.gameId === null ? null : await this.#checkGame(app.ownerId, app.gameId)
    const { db, applicationsPerPlayer: most } = this.#context
    const made = await db.transaction(async (em) => {
      await mustHaveRoomForApp(em, { db, ownerId: app.ownerId, most })
      return this.create(em, { ...app, gameId: game?.id ?? null })
    })
    await this.announce(made)
    return made
  }

  /**
   * Creates an application in the caller's transaction.
   *
   * @param em the transaction; the caller is responsible for the game, if any
   * @returns the application with its secret, which is not stored; a public application has none
   */
  create(em: SqlEntityManager, app: NewApp & { publicClient?: false }): Promise<App & { clientSecret: string }>
  create(em: SqlEntityManager, app: NewApp): Promise<AppWithSecret>
  async create(em: SqlEntityManager, app: NewApp): Promise<AppWithSecret> {
    const { hosted = false, publicClient = false, addressField: field, ...given } = app
    if (!hosted) checkRedirectUris(app.redirectUris, { ...this.#context, publicClient, field })
    const servedUris = hosted ? app.redirectUris : []
    const now = this.#context.clock.now()
    const clientSecret = publicClient ? null : newSecret()
    const row = {
      ...given,
      name: visibleText(app.name),
      id: newId('app', now),
      clientId: `svc_client_${randomText(16)}`,
      hosted,
      servedUris,
      publicClient,
      secretHash: clientSecret && hashSecret(clientSecret),
      oldSecretHash: null,
      oldSecretUntil: null,
      createdAt: now,
      updatedAt: now,
      lastUsedAt: null,
      registration: null,
      metadataUrl: null,
      idTokenAlgorithm: app.idTokenSignedResponseAlg ?? null,
    }
    await em.insert(OAuthAppRow, row)
    return { ...toApp(row), redirectUris: app.redirectUris, clientSecret }
  }

  /** Adds a public client that is part of the platform itself. Only devices use it, since it has no redirect URI. */
  addBuiltin(client: { clientId: string; name: string }): void {
    this.#builtins.set(client.clientId, unstoredClient(client))
  }

  /** Finds the client for the endpoints, or null. It reads the database each time. */
  async find(clientId: string): Promise<OAuthClient | null> {
    const builtin = this.#builtins.get(clientId)
    if (builtin) return builtin
    const stored = isMetadataUrl(clientId) ? metadataClientId(clientId) : clientId
    const [row] = await this.#context.db.query<ClientRow>(FIND_CLIENT, [stored])
    return row ? clientOf(row) : null
  }

  /** Returns one of a player's applications. @throws NotFound */
  async mustOwn(ownerId: string, id: string): Promise<App> {
    const row = await this.#context.db.em().findOne(OAuthAppRow, { id, ownerId })
    if (!row) throw new NotFound('application')
    return this.#shown(row)
  }

  /** Lists a player's applications, the newest first. */
  async list(ownerId: string, { limit, cursor }: PageQuery): Promise<{ apps: App[]; nextCursor: string | null }> {
    const before = mustBeCursor('app', cursor)
    const where = { ownerId, ...(before ? { id: { $lt: before } } : {}) }
    const rows = await this.#context.db.em().find(OAuthAppRow, where, { orderBy: { id: 'desc' }, limit: limit + 1 })
    const { page, nextCursor } = cutPage(rows, limit)
    return { apps: await toApps(page, this.#hosted), nextCursor }
  }

  /** Reads all applications of a player in pages, by id, for the export of the player's data. */
  export(ownerId: string): AsyncGenerator<App[], void> {
    return inPages(async (after, limit) => {
      const where = { ownerId, ...(after && { id: { $gt: after.id } }) }
      const rows = await this.#context.db.em().find(OAuthAppRow, where, { orderBy: { id: 'asc' }, limit })
      return toApps(rows, this.#hosted)
    })
  }

  /**
   * Changes some fields. A hosted game has its own address as its home page and, whether or not they are listed, the
   * redirect URIs of its own addresses; the others that are listed are registered by its owner.
   *
   * @throws InvalidRequest, NotFound
   */
  async update(
    ownerId: string,
    id: string,
    { redirectUris, homepageUrl, idTokenSignedResponseAlg, ...plain }: AppUpdate,
  ): Promise<App> {
    const game = plain.gameId ? await this.#checkGame(ownerId, plain.gameId) : null
    const em = this.#context.db.em()
    const row = await em.findOne(OAuthAppRow, { id, ownerId })
    if (!row) throw new NotFound('application')
    const linked = { clientId: row.clientId, gameId: row.gameId ?? null }
    const isMoved = plain.gameId !== undefined && (game?.id ?? null) !== linked.gameId
    if (isMoved && (await this.#context.suspendedClients.has(linked))) throw new AppSuspended()
    const own = row.hosted || row.gameId ? await this.#originsOf(row.clientId) : null
    const served = own?.all.map(redirectUriOf) ?? []
    if (homepageUrl !== undefined && own && own.main !== null && homepageUrl !== own.main) {
      throw fieldError('homepageUrl', 'The home page of a game that lives here is its own address.')
    }
    if (homepageUrl !== undefined) row.homepageUrl = homepageUrl
    if (idTokenSignedResponseAlg) row.idTokenAlgorithm = idTokenSignedResponseAlg
    if (redirectUris) {
      checkRedirectUris(redirectUris, { ...this.#context, publicClient: row.publicClient, served })
      const registered = redirectUris.filter((uri) => !served.includes(uri))
      row.redirectUris = row.hosted ? [...served, ...registered] : registered
      row.servedUris = row.hosted ? served : []
    }
    if (plain.name !== undefined) plain.name = visibleText(plain.name)
    em.assign(row, { ...plain, ...(game && { gameId: game.id }), updatedAt: this.#context.clock.now() } as never)
    await em.flush()
    await this.announce(row)
    return this.#shown(row)
  }

  /**
   * Updates the application of a game that moves to or from an external address, and keeps the other addresses that its
   * owner registered. It runs in the caller's transaction; the caller then emits `app.changed`.
   *
   * @param from the external address that it had; null while it was hosted here
   * @param to the external address that it has now; null while it is hosted here
   * @param origins the origins at which it is served here
   * @throws InvalidRequest for an external address that is not allowed
   */
  async moveApp(
    em: SqlEntityManager,
    clientId: string,
    { from, to, origins }: { from: string | null; to: string | null; origins: string[] },
  ): Promise<void> {
    const gone = from === null ? [] : callbacksBelow(from)
    const own = to === null ? origins.map(redirectUriOf) : callbacksBelow(to)
    if (to !== null) checkRedirectUris(own, { ...this.#context, field: 'url' })
    // Writing before reading locks the row, so that concurrent changes are all kept.
    await em.nativeUpdate(OAuthAppRow, { clientId }, { updatedAt: this.#context.clock.now() })
    const row = await em.findOne(OAuthAppRow, { clientId })
    if (!row) return
    row.redirectUris = [...own, ...registeredUris(row).filter((uri) => !gone.includes(uri) && !own.includes(uri))]
    row.servedUris = to === null ? own : []
    row.hosted = to === null
    if (to !== null) row.homepageUrl = to
    await em.flush()
  }

  /**
   * Gives the application of a game the game's title, which the consent page shows. It runs in the caller's transaction;
   * the caller then emits `app.changed`.
   */
  async rename(em: SqlEntityManager, clientId: string, name: string): Promise<void> {
    await em.nativeUpdate(OAuthAppRow, { clientId }, { name, updatedAt: this.#context.clock.now() })
  }

  /**
   * Separates the platform's own addresses from those that owners registered, which earlier versions stored in one
   * list. This works only while the configuration is the one under which they were written.
   */
  async tellServedApart(): Promise<void> {
    const { db } = this.#context
    const rows = await db.em().find(OAuthAppRow, { hosted: true, servedUris: null })
    if (rows.length === 0) return
    const origins = await this.#hosted.originsOf(rows.map(({ clientId }) => clientId))
    await db.transaction(async (em) => {
      for (const row of rows) {
        const registered = registeredUris(row)
        const own = (origins.get(row.clientId)?.all ?? []).map(redirectUriOf)
        const servedUris = row.redirectUris.filter((uri) => !registered.includes(uri) || own.includes(uri))
        await em.nativeUpdate(OAuthAppRow, { id: row.id, servedUris: null }, { servedUris })
      }
    })
  }

  async #originsOf(clientId: string): Promise<HostedOrigins | null> {
    return (await this.#hosted.originsOf([clientId])).get(clientId) ?? null
  }

  async #shown(row: StoredApp): Promise<App> {
    const [app] = await toApps([row], this.#hosted)
    return app as App
  }

  /** Deletes an application with all its grants. @throws NotFound */
  async delete(ownerId: string, id: string): Promise<void> {
    const row = await this.#context.db.transaction(async (em) => {
      const row = await em.findOne(OAuthAppRow, { id, ownerId })
      if (!row) throw new NotFound('application')
      await deleteApp(em, row)
      return row
    })
    await this.announce(row)
  }

  /**
   * Gives an application a new secret. Codes and tokens issued under the old one end with it.
   *
   * @param graceSeconds how long the old secret stays valid; with 0 it ends now
   * @returns the new secret, which is not stored; null for a public application, which has none
   * @throws NotFound
   */
  async rotateSecret(ownerId: string, id: string, graceSeconds = 0): Promise<AppWithSecret> {
    const clientSecret = newSecret()
    const row = await this.#context.db.transaction(async (em) => {
      const row = await em.findOne(OAuthAppRow, { id, ownerId })
      if (!row || row.publicClient) throw new NotFound('application with a secret')
      const now = this.#context.clock.now()
      const grace = graceSeconds > 0
      row.oldSecretHash = grace ? (row.secretHash ?? null) : null
      row.oldSecretUntil = grace ? new Date(now.getTime() + graceSeconds * 1000) : null
      row.secretHash = hashSecret(clientSecret)
      row.updatedAt = now
      await em.flush()
      if (!grace) await endGrants(em, { clientId: row.clientId })
      if (row.gameId != null) await this.#noteRotation(em, row.gameId)
      return row
    })
    await this.announce(row)
    return { ...(await this.#shown(row)), clientSecret }
  }

  /** Whether a secret belongs to the application. An unknown application takes the same time. */
  hasSecret(app: OAuthClient | null, secret: string): boolean {
    const given = Buffer.from(hashSecret(secret))
    const equals = (hash: string | null | undefined) =>
      timingSafeEqual(given, Buffer.from(hash ?? NO_HASH)) && hash != null
    const current = equals(app?.secretHash)
    const old = equals(app?.oldSecretHash)
    return current || (old && (app?.oldSecretUntil?.getTime() ?? 0) > this.#context.clock.now().getTime())
  }

  /** Records the use of an application to the minute. No caller waits for the write. */
  noteUse(app: OAuthClient): void {
    const { clock, db, log } = this.#context
    const now = clock.now()
    const last = Math.max(app.lastUsedAt?.getTime() ?? 0, this.#noted.get(app.id) ?? 0)
    if (now.getTime() - last < LAST_USED_PRECISION_MS) return
    this.#noted.set(app.id, now.getTime())
    db.execute('update oauth_apps set last_used_at = ? where id = ?', [now, app.id]).catch((error) =>
      log.warn({ err: error }, 'storing the last use of an application failed'),
    )
  }

  /** Notifies every node of a changed or deleted application, after the transaction. */
  async announce({ clientId, gameId }: ChangedApp): Promise<void> {
    await this.#context.events.emit('app.changed', { clientId, gameId: gameId ?? null })
  }
}

/** The secret contains only characters that no client library escapes in a Basic header. */
const newSecret = () => `svc_secret_${randomText(32)}`
