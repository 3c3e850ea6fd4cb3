import { clearCookie, cookieName, cookieSite, cookieValues, setCookie } from './cookies.ts'
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

const NAME = 'service_session'

/** Manages a player's session with the game. Only the player's browser stores it; the server stores nothing. */
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

  /** Returns the `Set-Cookie` headers that sign a player in. */
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

  /** Returns the `Set-Cookie` headers that sign the player out. */
  end(headers: Headers): string[] {
    return clearCookie(cookieSite(this.#settings.origin, headers), NAME)
  }

  /** Reads the session from a request's cookie. Two or more cookies of that name count as signed out. */
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
