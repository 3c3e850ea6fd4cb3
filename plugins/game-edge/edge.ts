import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Forbidden, NotFound } from '../../core/errors.ts'
import { isFromPageOf } from '../../core/origins/same-origin.ts'
import { type Game, Suspended } from '../games/index.ts'
import { EmbeddedSignIn } from './embedded/embedded-sign-in.ts'
import { OtherPlayer, signInRequired } from './errors.ts'
import { PreviewPasses } from './preview-passes.ts'
import { type GameSession, GameSessions } from './sign-in/sessions.ts'

const SAFE = new Set(['GET', 'HEAD'])

/** The context of a game's own origin: the game of a request, and its player. */
export class Edge {
  readonly sessions: GameSessions
  readonly previews: PreviewPasses
  readonly embedded: EmbeddedSignIn
  readonly #app: FastifyInstance

  constructor(app: FastifyInstance) {
    this.#app = app
    this.sessions = new GameSessions(app)
    this.previews = new PreviewPasses(app)
    this.embedded = new EmbeddedSignIn(app)
  }

  /**
   * Returns the game that a request on a game's origin is for.
   *
   * @throws NotFound when there is none, or it is private and the caller is not signed in as somebody who may see it
   * @throws Suspended
   */
  async gameOf(request: FastifyRequest): Promise<Game> {
    const game = await this.namedBy(request)
    if (!game || !(await this.mayEnter(request, game))) throw new NotFound('game')
    return unlessSuspended(game)
  }

  /**
   * Does the same as `gameOf` for the sign-in itself, which players of a private game must reach before they may see
   * it. Null: no game.
   */
  async namedBy(request: FastifyRequest): Promise<Game | null> {
    const site = this.#app.origins.of(request.raw)
    return site.kind === 'game' && site.preview === null ? this.#app.games.bySlug(site.slug) : null
  }

  /** Does the same as `namedBy`. @throws NotFound when there is none; Suspended */
  async mustName(request: FastifyRequest): Promise<Game> {
    const game = await this.namedBy(request)
    if (!game) throw new NotFound('game')
    return unlessSuspended(game)
  }

  /**
   * Returns the game that players sign in to at the origin of a request. An existing preview uses the sign-in of its
   * game, for players who may see the preview.
   *
   * @throws NotFound when there is none
   * @throws Suspended
   */
  async signInGame(request: FastifyRequest): Promise<Game> {
    const site = this.#app.origins.of(request.raw)
    if (site.kind !== 'game' || site.preview === null) return this.mustName(request)
    const game = await this.#app.games.bySlug(site.slug)
    const isThere = game !== null && (await this.#app.deploys.manifests.byPreview(game.id, site.preview)) !== null
    if (!isThere || !(await this.mayEnter(request, game))) throw new NotFound('game')
    return unlessSuspended(game)
  }

  /**
   * The `onRequest` hook of the platform's scripts. The game is usually cached. While the database is unavailable, they are
   * served nevertheless.
   *
   * @throws Suspended
   */
  async refuseSuspended(request: FastifyRequest): Promise<void> {
    const game = await this.namedBy(request).catch(() => null)
    if (game) unlessSuspended(game)
  }

  /** Whether the caller may see the game. It reads the session only if the game is private. */
  async mayEnter(request: FastifyRequest, game: Game): Promise<boolean> {
    if (this.#app.games.visibleTo(null, game)) return true
    const site = this.#app.origins.of(request.raw)
    if (site.kind === 'game' && site.preview !== null) return this.previews.admits(request.raw, site.host, game)
    const session = await this.sessionOf(request, game)
    return session !== null && this.#app.games.visibleTo(session.player.id, game)
  }

  /**
   * Returns the game of a page that sends a request. A preview is a page of its game, for players who may see the preview.
   *
   * @throws NotFound, Suspended
   */
  async gameOfPage(request: FastifyRequest): Promise<{ game: Game; isPreview: boolean }> {
    const site = this.#app.origins.of(request.raw)
    const isPreview = site.kind === 'game' && site.preview !== null
    return { isPreview, game: await (isPreview ? this.signInGame(request) : this.gameOf(request)) }
  }

  /**
   * Returns the id of the player for whom a page of the game sends a request.
   *
   * A change must come from a page of exactly this origin, since a sibling game on the same site sends this game's Lax
   * cookies. A page that was loaded before another player signed in here must not act for that player: it names its own
   * in the header `Service-Player`.
   *
   * @param messages what to say to a page of another origin, and to a player who is not signed in
   * @throws Forbidden, Unauthorized, OtherPlayer
   */
  async playerOfPage(
    request: FastifyRequest,
    game: Game,
    messages: { otherOrigin: string; signedOut: string },
  ): Promise<string> {
    if (!SAFE.has(request.method) && !isFromPageOf(request.headers, this.originOf(request)))
      throw new Forbidden(messages.otherOrigin)
    const session = await this.sessionOf(request, game)
    if (!session) throw signInRequired(messages.signedOut)
    const named = request.headers['service-player']
    if (named !== undefined && named !== session.player.id) throw new OtherPlayer()
    return session.player.id
  }

  /** Returns the player by the session cookie or frame token of exactly this host; null for none. */
  sessionOf(request: FastifyRequest, game: Game): Promise<GameSession | null> {
    return this.sessions.read(request.raw, this.hostOf(request), game)
  }

  /** Returns the origin of a request without a trailing slash. A game may have several. */
  originOf(request: FastifyRequest): string {
    return this.#app.origins.atHost(this.hostOf(request))
  }

  /** Returns the game's preferred address when a request came to another one. */
  movesTo(request: FastifyRequest): string | null {
    const site = this.#app.origins.of(request.raw)
    return site.kind === 'game' ? this.#app.origins.movesTo(site) : null
  }

  /** Returns the path of a platform script on a game's origin. The name contains a digest. */
  script(name: string): string {
    return `/__service/${this.#app.browserFiles.get(name).fileName}`
  }

  /** Returns the Host of a request on a game's origin: lower case, with its port. The session cookie is bound to it. */
  hostOf(request: FastifyRequest): string {
    const site = this.#app.origins.of(request.raw)
    if (site.kind !== 'game') throw new NotFound('game')
    return site.host
  }
}

function unlessSuspended(game: Game): Game {
  if (game.suspended) throw new Suspended()
  return game
}

/**
 * The `onRequest` hook of reserved paths. They never serve as a service worker, which would outlive the page and could
 * intercept requests between the game and its sign-in.
 */
export async function refuseServiceWorker(request: FastifyRequest): Promise<void> {
  if (request.headers['service-worker'] === 'script') throw new Forbidden('This address is no service worker.')
}
