import { type CookieNames, clearCookie, cookieNames, cookieSite, cookieValues, setCookie, valuesOf } from './cookies.ts'
import { SealedTokens } from './sealed-tokens.ts'
import type { Player, ResolvedSettings } from './settings.ts'

/** The game's session, as `/auth/service/session` returns it. */
export type GameSession =
  | { signedIn: false }
  | {
      signedIn: true
      user: Player
      /** The granted scopes, separated by spaces. */
      scope: string
      /** The expiry time in ISO 8601. */
      expiresAt: string
    }

/** The content of the session cookie. */
interface Claims {
  sub: string
  name: string
  picture: string | null
  email?: string
  scope: string
}

/** A session that is used at this age is renewed. */
const RENEW_AFTER_MS = 24 * 3600_000

/** Manages a player's session with the game. Only the player's browser stores it; the server stores nothing. */
export class Sessions {
  readonly #settings: ResolvedSettings
  readonly #tokens: SealedTokens
  readonly #cookie: CookieNames

  constructor(settings: ResolvedSettings) {
    const { sessionSecret: secret, clientId, origin } = settings
    this.#settings = settings
    this.#tokens = new SealedTokens('session', { secret, clientId, host: new URL(origin).host })
    this.#cookie = cookieNames(settings, 'session')
  }

  /** Returns the `Set-Cookie` headers that sign a player in. */
  async start(headers: Headers, player: Player, scope: string): Promise<string[]> {
    const claims: Claims = {
      sub: player.id,
      name: player.name,
      picture: player.imageUrl,
      scope,
      ...(player.email === undefined ? {} : { email: player.email }),
    }
    return this.#set(headers, claims)
  }

  /**
   * Returns the `Set-Cookie` headers that renew a session which is more than a day old, so that a player who returns every week
   * stays signed in; none for any other. On plain http at `localhost` the form of the cookie depends on whether the page
   * is in a frame, which the request of a script does not say, so a session is not renewed there.
   */
  async renew(headers: Headers): Promise<string[]> {
    const claims = await this.#claimsIn(headers)
    const { secure, loopback } = cookieSite(this.#settings.origin, headers)
    if (!claims || (loopback && !secure)) return []
    const { exp, ...session } = claims
    const { now, sessionSeconds } = this.#settings
    const age = sessionSeconds * 1000 - ((exp as number) * 1000 - now().getTime())
    return age > RENEW_AFTER_MS ? this.#set(headers, session as Claims) : []
  }

  async #set(headers: Headers, claims: Claims): Promise<string[]> {
    const { now, sessionSeconds, origin } = this.#settings
    const token = await this.#tokens.seal({ ...claims }, new Date(now().getTime() + sessionSeconds * 1000))
    const site = cookieSite(origin, headers)
    const { name } = this.#cookie
    return [
      ...(await this.#clearFormer(headers)),
      ...clearCookie(site, name, 'current'),
      setCookie(site, name, token, sessionSeconds),
    ]
  }

  /** Returns the `Set-Cookie` headers that sign the player out. */
  async end(headers: Headers): Promise<string[]> {
    const site = cookieSite(this.#settings.origin, headers)
    return [...(await this.#clearFormer(headers)), ...clearCookie(site, this.#cookie.name)]
  }

  /** Removes a session under the former name, unless another game at this host name has set that cookie. */
  async #clearFormer(headers: Headers): Promise<string[]> {
    const { former } = this.#cookie
    for (const value of former === null ? [] : cookieValues(headers, former)) {
      const isOurs = await this.#tokens.open(value, this.#settings.now())
      if (isOurs) return clearCookie(cookieSite(this.#settings.origin, headers), former as string)
    }
    return []
  }

  /** Reads the session from a request's cookie. Two or more cookies of that name count as signed out. */
  async read(headers: Headers): Promise<GameSession> {
    const claims = await this.#claimsIn(headers)
    if (!claims) return { signedIn: false }
    const { sub: id, name, picture: imageUrl, email, scope, exp } = claims
    return {
      signedIn: true,
      user: { id, name, imageUrl, ...(email === undefined ? {} : { email }) },
      scope,
      expiresAt: new Date((exp as number) * 1000).toISOString(),
    }
  }

  async #claimsIn(headers: Headers) {
    const values = valuesOf(headers, this.#cookie)
    const [token] = values
    return values.length === 1 && token ? this.#tokens.open<Claims>(token, this.#settings.now()) : null
  }
}
