import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { cookieValues } from '../../../core/http.ts'
import { ShortCache } from '../../../core/short-cache.ts'
import type { Game } from '../../games/index.ts'
import { clearCookie, cookieName, cookieSite, setCookie } from './cookies.ts'
import { SealedTokens } from './sealed.ts'

/** Who is signed in to one game. */
export interface GameSession {
  player: { id: string; name: string; imageUrl: string | null }
  /** Space-separated, as granted. */
  scope: string
  expiresAt: Date
  /** The player's epoch at sign-in: the session holds while it is still that (`identity.players.standing`). */
  epoch: number
  /** The consent it rests on: it holds until that is taken back (`identity.consents.holds`, `consent.revoked`). */
  consentId: string
  /** The application by which the player signed in: it holds until that is removed (`app.changed`). */
  clientId: string
}

/** What the cookie holds. */
interface Claims {
  sub: string
  name: string
  picture: string | null
  scope: string
  game: string
  client: string
  /** The player's consent: when it is taken back, the session ends. */
  consent: string
  epoch: number
}

const LIFETIME_SECONDS = 7 * 24 * 3600

/**
 * The session of a player with one game, kept in the player's browser alone.
 *
 * It ends after 7 days, and early when the player signs out everywhere or is disabled (`identity.players.standing`),
 * disconnects the game (`identity.consents.holds`), or when the game's OAuth application is removed.
 */
export class GameSessions {
  readonly #app: FastifyInstance
  readonly #tokens: SealedTokens
  /** The client ids of OAuth applications that there are. */
  readonly #clients: ShortCache<true>

  constructor(app: FastifyInstance) {
    this.#app = app
    this.#tokens = new SealedTokens(app.keys.derive('game-edge/session'), 'game-session')
    this.#clients = new ShortCache(app.clock)
    app.events.on('app.changed', ({ clientId }) => this.#clients.drop(clientId))
  }

  /** `Set-Cookie` headers that sign a player in. */
  async start(
    request: IncomingMessage,
    host: string,
    game: Game,
    granted: { player: GameSession['player']; scope: string; clientId: string; consentId: string },
  ): Promise<string[]> {
    const standing = await this.#app.identity.players.standing(granted.player.id)
    const claims: Claims = {
      sub: granted.player.id,
      name: granted.player.name,
      picture: granted.player.imageUrl,
      scope: granted.scope,
      game: game.id,
      client: granted.clientId,
      consent: granted.consentId,
      epoch: standing?.epoch ?? 0,
    }
    const expiresAt = new Date(this.#app.clock.now().getTime() + LIFETIME_SECONDS * 1000)
    const token = await this.#tokens.seal({ ...claims }, host, expiresAt)
    const site = cookieSite(request, host, this.#app.origins.secure)
    const name = this.#cookie(game)
    return [...clearCookie(site, name, 'current'), setCookie(site, name, token, LIFETIME_SECONDS)]
  }

  /** `Set-Cookie` headers that sign out. */
  end(request: IncomingMessage, host: string, game: Game): string[] {
    return clearCookie(cookieSite(request, host, this.#app.origins.secure), this.#cookie(game))
  }

  /** The session that a request's cookie carries; null when there is none, more than one, or one that has ended. */
  async read(request: IncomingMessage, host: string, game: Game): Promise<GameSession | null> {
    const values = cookieValues(request.headers.cookie, cookieName(this.#cookie(game), this.#app.origins.secure))
    if (values.length !== 1) return null
    const claims = await this.#tokens.open<Claims>(values[0] as string, host, this.#app.clock.now())
    if (!claims || claims.game !== game.id || claims.client !== game.clientId) return null
    if (!(await this.#isThere(game.clientId))) return null
    const standing = await this.#app.identity.players.standing(claims.sub)
    if (!standing || standing.disabled || standing.epoch !== claims.epoch) return null
    if (!(await this.#app.identity.consents.holds(claims.consent))) return null
    return {
      player: { id: claims.sub, name: claims.name, imageUrl: claims.picture },
      scope: claims.scope,
      expiresAt: new Date((claims.exp as number) * 1000),
      epoch: claims.epoch,
      consentId: claims.consent,
      clientId: claims.client,
    }
  }

  async #isThere(clientId: string): Promise<boolean> {
    const there = async () => ((await this.#app.identity.apps.find(clientId)) ? true : null)
    return (await this.#clients.get(clientId, there)) === true
  }

  /** Where each game has a port of one name, cookies don't tell them apart: there the name carries the slug. */
  #cookie(game: Game): string {
    return this.#app.origins.byPort ? `service_session_${game.slug}` : 'service_session'
  }
}
