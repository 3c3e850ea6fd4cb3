import { clearCookie, cookieName, cookieSite, cookieValues, setCookie } from './cookies.ts'
import { SealedTokens } from './sealed-tokens.ts'
import type { Player, ResolvedSettings } from './settings.ts'

/** The session of the game, as in the answer of `/auth/service/session`. */
export type GameSession =
  | { signedIn: false }
  | {
      signedIn: true
      user: Player
      /** Space-separated, as granted. */
      scope: string
      /** ISO 8601. */
      expiresAt: string
    }

/** The content of the cookie. */
interface Claims {
  sub: string
  name: string
  picture: string | null
  email?: string
  scope: string
}

const NAME = 'service_session'

/** The session of a player with the game, kept in the player's browser alone: the server remembers nothing. */
export class Sessions {
  readonly #settings: ResolvedSettings
  readonly #tokens: SealedTokens
  readonly #cookie: string

  constructor(settings: ResolvedSettings) {
    const { sessionSecret: secret, clientId, origin } = settings
    this.#settings = settings
    this.#tokens = new SealedTokens('session', { secret, clientId, host: new URL(origin).host })
    this.#cookie = cookieName(NAME, origin.startsWith('https:'))
  }

  /** `Set-Cookie` headers that sign a player in. */
  async start(headers: Headers, player: Player, scope: string): Promise<string[]> {
    const { now, sessionSeconds, origin } = this.#settings
    const claims: Claims = {
      sub: player.id,
      name: player.name,
      picture: player.imageUrl,
      scope,
      ...(player.email === undefined ? {} : { email: player.email }),
    }
    const token = await this.#tokens.seal({ ...claims }, new Date(now().getTime() + sessionSeconds * 1000))
    const site = cookieSite(origin, headers)
    return [...clearCookie(site, NAME, 'current'), setCookie(site, NAME, token, sessionSeconds)]
  }

  /** `Set-Cookie` headers that sign out. */
  end(headers: Headers): string[] {
    return clearCookie(cookieSite(this.#settings.origin, headers), NAME)
  }

  /** The session in a request's cookie. More than one cookie of the name: signed out. */
  async read(headers: Headers): Promise<GameSession> {
    const values = cookieValues(headers, this.#cookie)
    const [token] = values
    if (values.length !== 1 || !token) return { signedIn: false }
    const claims = await this.#tokens.open<Claims>(token, this.#settings.now())
    if (!claims) return { signedIn: false }
    const { sub: id, name, picture: imageUrl, email, scope, exp } = claims
    return {
      signedIn: true,
      user: { id, name, imageUrl, ...(email === undefined ? {} : { email }) },
      scope,
      expiresAt: new Date((exp as number) * 1000).toISOString(),
    }
  }
}
