import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { TtlCache } from '../../../core/data/ttl-cache.ts'
import { type CookieNames, cookieValues, valuesOf } from '../../../core/origins/cookies.ts'
import type { Game } from '../../games/index.ts'
import { type CookieSite, clearCookie, cookieSite, gameCookie, setCookie } from './cookies.ts'
import { frameTokenIn } from './frame-token.ts'
import { SealedTokens } from './sealed-tokens.ts'

/** The session of a player in one game. */
export interface GameSession {
  player: { id: string; name: string; imageUrl: string | null }
  /** The granted scopes, space-separated. */
  scope: string
  expiresAt: Date
  /** The player's epoch at sign-in. The session ends when the epoch changes (`identity.players.standing`). */
  epoch: number
  /** The consent of the session, which ends when it is revoked (`identity.consents.holds`, `consent.revoked`). */
  consentId: string
  /** The application of the sign-in. The session ends when it is removed (`app.changed`). */
  clientId: string
  /** The portal session of the sign-in, whose end ends this session (`session.ended`); null in older cookies. */
  sessionId: string | null
  /** Whether the page around a frame signed the player in. */
  isOfFrame: boolean
  /** The key that sealed it. The session ends when the key is revoked (`app.keyRings.isEnded`). */
  keyId: string
}

/** The player of a session, and the values on which it depends. */
export type Granted = Pick<GameSession, 'player' | 'scope' | 'clientId' | 'consentId' | 'sessionId' | 'isOfFrame'>

/** The content of the cookie. */
interface Claims {
  sub: string
  name: string
  picture: string | null
  scope: string
  game: string
  client: string
  /** The player's consent. The session ends when it is revoked. */
  consent: string
  /** The portal session of the sign-in. */
  sid?: string
  /** The player signed in at the game's own address, and not through the page around a frame. */
  own?: true
  epoch: number
}

const LIFETIME_SECONDS = 7 * 24 * 3600
/** The lifetime of a frame token. Scripts of the game can read it, and the page around the frame issues new ones. */
const FRAME_TOKEN_SECONDS = 12 * 3600

/**
 * The session of a player with one game, stored only in the player's browser: in a cookie, or, in a frame whose browser
 * keeps no cookie, as a token that the platform's script sends (frame-token.ts).
 *
 * It ends after 7 days (the token: 12 hours). It ends early when the player signs out everywhere or is disabled
 * (`identity.players.standing`), disconnects the game (`identity.consents.holds`), or when the game's OAuth application
 * is removed; also when the player signs out of the portal in that browser (`identity.sessions.holds`). All sessions end
 * when the sealing key is revoked (`gameyard keys rotate sessions --now`).
 */
export class GameSessions {
  readonly #app: FastifyInstance
  readonly #tokens: SealedTokens
  readonly #frameTokens: SealedTokens
  /** The client ids of existing OAuth applications. */
  readonly #clients: TtlCache<true>

  constructor(app: FastifyInstance) {
    this.#app = app
    const ring = (purpose: string, seconds: number) => app.keyRings.ring('sessions', purpose, seconds * 1000)
    this.#tokens = new SealedTokens(ring('game-edge/session', LIFETIME_SECONDS), 'game-session')
    this.#frameTokens = new SealedTokens(ring('game-edge/frame-token', FRAME_TOKEN_SECONDS), 'frame-token')
    this.#clients = new TtlCache(app.clock)
    app.events.on('app.changed', ({ clientId }) => this.#clients.drop(clientId))
  }

  /**
   * Returns the `Set-Cookie` headers that sign a player in.
   *
   * @param framed a script in a frame makes the request, which the request's own headers do not show
   */
  async start(
    request: IncomingMessage,
    host: string,
    game: Game,
    granted: Granted,
    { framed = false } = {},
  ): Promise<string[]> {
    const token = await this.#tokens.seal({ ...(await this.#claims(game, granted)) }, host, this.#in(LIFETIME_SECONDS))
    const asked = cookieSite(request, host, this.#app.origins.secure)
    const site = framed ? { ...asked, framed } : asked
    const names = this.#cookie(host, game)
    return [
      ...(await this.#clearFormer(request, host, site, names)),
      ...clearCookie(site, names.name, 'current'),
      setCookie(site, names.name, token, LIFETIME_SECONDS),
    ]
  }

  /** Creates a token for a frame whose browser stores no cookie. */
  async frameToken(host: string, game: Game, granted: Granted): Promise<{ token: string; expiresAt: Date }> {
    const expiresAt = this.#in(FRAME_TOKEN_SECONDS)
    return {
      token: await this.#frameTokens.seal({ ...(await this.#claims(game, granted)) }, host, expiresAt),
      expiresAt,
    }
  }

  /** Returns the `Set-Cookie` headers that sign out. */
  async end(request: IncomingMessage, host: string, game: Game): Promise<string[]> {
    const site = cookieSite(request, host, this.#app.origins.secure)
    const names = this.#cookie(host, game)
    return [...(await this.#clearFormer(request, host, site, names)), ...clearCookie(site, names.name)]
  }

  /** Removes a session under the former name, unless another server at this host name has set that cookie. */
  async #clearFormer(request: IncomingMessage, host: string, site: CookieSite, { former }: CookieNames) {
    for (const value of former === null ? [] : cookieValues(request.headers.cookie, former)) {
      if (await this.#tokens.open(value, host, this.#app.clock.now())) return clearCookie(site, former as string)
    }
    return []
  }

  /**
   * Returns the session of a request: that of its frame token, else of its cookie. Null when there is none, more than
   * one cookie, or the session has ended.
   */
  async read(request: IncomingMessage, host: string, game: Game): Promise<GameSession | null> {
    const claims = await this.#claimsIn(request, host, game)
    if (!claims || claims.game !== game.id || claims.client !== game.clientId) return null
    if (!(await this.#isThere(game.clientId))) return null
    const standing = await this.#app.identity.players.standing(claims.sub)
    if (!standing || standing.disabled || standing.epoch !== claims.epoch) return null
    if (!(await this.#app.identity.consents.holds(claims.consent))) return null
    if (claims.sid !== undefined && !(await this.#app.identity.sessions.holds(claims.sid))) return null
    return {
      // What the player is called now, also when staff took a name away.
      player: { id: claims.sub, name: standing.name, imageUrl: standing.imageUrl },
      scope: claims.scope,
      expiresAt: new Date((claims.exp as number) * 1000),
      epoch: claims.epoch,
      consentId: claims.consent,
      clientId: claims.client,
      sessionId: claims.sid ?? null,
      isOfFrame: claims.sid !== undefined && !claims.own,
      keyId: claims.keyId,
    }
  }

  #claimsIn(request: IncomingMessage, host: string, game: Game) {
    const now = this.#app.clock.now()
    const frameToken = frameTokenIn(request)
    if (frameToken !== null) return this.#frameTokens.open<Claims>(frameToken, host, now)
    const values = valuesOf(request.headers.cookie, this.#cookie(host, game))
    return values.length === 1 ? this.#tokens.open<Claims>(values[0] as string, host, now) : null
  }

  async #claims(game: Game, granted: Granted): Promise<Claims> {
    const { player, scope, clientId, consentId, sessionId, isOfFrame } = granted
    const standing = await this.#app.identity.players.standing(player.id)
    return {
      sub: player.id,
      name: player.name,
      picture: player.imageUrl,
      scope,
      game: game.id,
      client: clientId,
      consent: consentId,
      ...(sessionId === null ? {} : { sid: sessionId }),
      ...(isOfFrame ? {} : { own: true as const }),
      epoch: standing?.epoch ?? 0,
    }
  }

  #in(seconds: number): Date {
    return new Date(this.#app.clock.now().getTime() + seconds * 1000)
  }

  async #isThere(clientId: string): Promise<boolean> {
    const there = async () => ((await this.#app.identity.apps.find(clientId)) ? true : null)
    return (await this.#clients.get(clientId, there)) === true
  }

  /** On https, games on ports share one host name, and cookies ignore ports. The name there contains the slug. */
  #cookie(host: string, game: Game): CookieNames {
    const { name, former } = gameCookie(this.#app.origins.atHost(host), 'session')
    const suffix = this.#app.origins.byPort ? `_${game.slug}` : ''
    return former === null ? { name: name + suffix, former } : { name, former: former + suffix }
  }
}
