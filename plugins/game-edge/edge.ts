import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Forbidden, NotFound } from '../../core/errors.ts'
import type { Game } from '../games/index.ts'
import { PreviewPasses } from './preview-passes.ts'
import { type GameSession, GameSessions } from './sign-in/sessions.ts'

/** What a game's own origin knows: which game a request is for, and who is signed in to it. */
export class Edge {
  readonly sessions: GameSessions
  readonly previews: PreviewPasses
  readonly #app: FastifyInstance

  constructor(app: FastifyInstance) {
    this.#app = app
    this.sessions = new GameSessions(app)
    this.previews = new PreviewPasses(app)
  }

  /**
   * The game that a request on a game's origin is for.
   *
   * @throws NotFound when there is none, or it is private and the caller is not signed in as somebody who may see it
   */
  async gameOf(request: FastifyRequest): Promise<Game> {
    const game = await this.namedBy(request)
    if (!game || !(await this.mayEnter(request, game))) throw new NotFound('game')
    return game
  }

  /** As `gameOf`, for the sign-in itself: whoever may see a private game has to sign in to it first. Null: no game. */
  async namedBy(request: FastifyRequest): Promise<Game | null> {
    const site = this.#app.origins.of(request.raw)
    return site.kind === 'game' && site.preview === null ? this.#app.games.bySlug(site.slug) : null
  }

  /** Whether the caller may see the game. Looks at the session only when the game is private. */
  async mayEnter(request: FastifyRequest, game: Game): Promise<boolean> {
    if (this.#app.games.visibleTo(null, game)) return true
    const site = this.#app.origins.of(request.raw)
    if (site.kind === 'game' && site.preview !== null) return this.previews.admits(request.raw, site.host, game)
    const session = await this.sessionOf(request, game)
    return session !== null && this.#app.games.visibleTo(session.player.id, game)
  }

  /** Who is signed in to the game, by the session cookie of exactly this host; null for nobody. */
  sessionOf(request: FastifyRequest, game: Game): Promise<GameSession | null> {
    return this.sessions.read(request.raw, this.hostOf(request), game)
  }

  /** The game's origin that a request came to, without a trailing slash: a game may have several. */
  originOf(request: FastifyRequest): string {
    return this.#app.origins.atHost(this.hostOf(request))
  }

  /** Where the game wants its players instead, when a request came to another of its addresses. */
  movesTo(request: FastifyRequest): string | null {
    const site = this.#app.origins.of(request.raw)
    return site.kind === 'game' ? this.#app.origins.movesTo(site) : null
  }

  /** The Host of a request on a game's origin, as its session cookie is bound to: lower case, with its port. */
  hostOf(request: FastifyRequest): string {
    const site = this.#app.origins.of(request.raw)
    if (site.kind !== 'game') throw new NotFound('game')
    return site.host
  }
}

/**
 * The `onRequest` hook of reserved paths: they never serve as a service worker, which would outlive the page and could
 * stand between the game and its sign-in.
 */
export async function refuseServiceWorker(request: FastifyRequest): Promise<void> {
  if (request.headers['service-worker'] === 'script') throw new Forbidden('This address is no service worker.')
}
