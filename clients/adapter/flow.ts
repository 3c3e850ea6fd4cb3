import { type CookieNames, clearCookie, cookieNames, cookieSite, setCookie, valuesOf } from './cookies.ts'
import { returnPath } from './return-to.ts'
import { SealedTokens } from './sealed-tokens.ts'
import type { Player, ResolvedSettings, Tokens } from './settings.ts'

/** The content of the state cookie, which exists between start and callback. */
interface Flow {
  state: string
  verifier: string
  returnTo: string
  embedded: boolean
}

const FLOW_SECONDS = 600
/** The maximum number of unfinished flows in one browser. The oldest are removed, to keep the Cookie header small. */
const OPEN_FLOWS = 8
const STATE = /^[A-Za-z0-9_-]{22}$/
/** Errors of `prompt=none` that mean that the player has to interact (OpenID Connect Core 3.1.2.6). */
const QUIET_REFUSALS = new Set(['login_required', 'consent_required', 'interaction_required'])
const TIMEOUT_MS = 15_000

/** The redirect target, and the cookies to set with it. */
export interface Step {
  location: string
  cookies: string[]
  /** Set after a successful sign-in. */
  signedIn?: { player: Player; tokens: Tokens }
}

/** Thrown when the sign-in could not be completed. */
export class SignInFailed extends Error {
  override name = 'SignInFailed'
  readonly status: 400 | 502

  /** @param status 502 when the portal is unreachable, else 400 */
  constructor(message: string, { status = 400, cause }: { status?: 400 | 502; cause?: unknown } = {}) {
    super(message, { cause })
    this.status = status
  }
}

/** Thrown when this browser has no such sign-in under way, for example when the page after one is reloaded. */
export class SignInOver extends SignInFailed {}

/**
 * The authorization code flow with PKCE (RFC 6749, 7636). Each flow has its own sealed state cookie, whose name
 * contains the state. Two tabs can therefore sign in at once, and the server stores nothing.
 */
export class SignInFlow {
  readonly #settings: ResolvedSettings
  readonly #states: SealedTokens

  constructor(settings: ResolvedSettings) {
    const { sessionSecret: secret, clientId, origin } = settings
    this.#settings = settings
    this.#states = new SealedTokens('sign-in-state', { secret, clientId, host: new URL(origin).host })
  }

  /**
   * Begins a sign-in with a redirect to the portal's authorization endpoint.
   *
   * The query has `returnTo`, a path of the game, and `embed=1` when the game is in a frame of the portal. The portal
   * can show no page in a frame, so it then answers immediately.
   */
  async start(headers: Headers, query: URLSearchParams): Promise<Step> {
    const { origin, path, now, baseUrl, clientId, redirectUri, scope } = this.#settings
    const state = randomText(16)
    const verifier = randomText(32)
    const embedded = query.get('embed') === '1'
    const flow: Flow = { state, verifier, embedded, returnTo: returnPath(query.get('returnTo'), { origin, path }) }
    const sealed = await this.#states.seal({ ...flow }, new Date(now().getTime() + FLOW_SECONDS * 1000))

    const location = new URL('/oauth/authorize', baseUrl)
    location.search = new URLSearchParams({
      response_type: 'code',
      client_id: clientId,
      redirect_uri: redirectUri,
      scope,
      state,
      code_challenge: await sha256(verifier),
      code_challenge_method: 'S256',
      ...(embedded ? { prompt: 'none' } : {}),
    }).toString()
    const site = cookieSite(origin, headers)
    const cookies = [...this.#abandoned(headers), setCookie(site, this.#cookie(state).name, sealed, FLOW_SECONDS)]
    return { location: location.href, cookies }
  }

  /**
   * Ends a sign-in by redeeming the code. In a frame, every failure redirects to the game, signed out: many browsers
   * keep no cookie there, and an error page would replace the game.
   *
   * @throws SignInFailed when the state does not belong to this browser, or the code is invalid
   */
  async finish(headers: Headers, query: URLSearchParams): Promise<Step> {
    try {
      return await this.#finish(headers, query)
    } catch (error) {
      if (!(error instanceof SignInFailed) || headers.get('sec-fetch-dest') !== 'iframe') throw error
      return { location: `${this.#settings.path}/`, cookies: [] }
    }
  }

  async #finish(headers: Headers, query: URLSearchParams): Promise<Step> {
    const { origin, baseUrl, now } = this.#settings
    const state = query.get('state') ?? ''
    const site = cookieSite(origin, headers)
    const names = this.#cookie(state)
    const sealed = STATE.test(state) ? valuesOf(headers, names) : []
    const flow = sealed.length === 1 ? await this.#states.open<Flow>(sealed[0] as string, now()) : null
    if (!flow || flow.state !== state) {
      throw new SignInOver(
        'This sign-in is finished, took longer than ten minutes, or began in another browser or at another address.',
      )
    }
    const issuer = query.get('iss')
    if (issuer !== null && issuer !== baseUrl) throw new SignInFailed('This answer is not from the portal.')
    const cookies = clearCookie(site, names.name)
    const error = query.get('error')
    if (error !== null) {
      // The player refused, or the portal could not ask the player inside a frame. The game continues signed out.
      if (error === 'access_denied' || (flow.embedded && QUIET_REFUSALS.has(error))) {
        return { location: flow.returnTo, cookies }
      }
      const why = query.get('error_description')
      throw new SignInFailed(`The portal refused the sign-in: ${error}${why ? ` (${why})` : ''}.`)
    }
    const code = query.get('code')
    if (!code) throw new SignInFailed('The code is missing.')
    return { location: flow.returnTo, cookies, signedIn: await this.#redeem(code, flow.verifier) }
  }

  /** Redeems the code from server to server. No other request contains the client secret. */
  async #redeem(code: string, verifier: string): Promise<{ player: Player; tokens: Tokens }> {
    const { baseUrl, clientId, clientSecret, redirectUri } = this.#settings
    const form = {
      grant_type: 'authorization_code',
      client_id: clientId,
      client_secret: clientSecret,
      code,
      redirect_uri: redirectUri,
      code_verifier: verifier,
    }
    let response: Response
    let answer: TokenAnswer | null
    try {
      response = await this.#settings.fetch(`${baseUrl}/api/oauth/token`, {
        method: 'POST',
        body: new URLSearchParams(form),
        headers: { accept: 'application/json' },
        // Cloudflare Workers know no `error`. A redirect is refused below like any other answer without a token.
        redirect: 'manual',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      })
      answer = (await response.json().catch(() => null)) as TokenAnswer | null
    } catch (cause) {
      const why = cause instanceof Error ? ` (${cause.message})` : ''
      throw new SignInFailed(`The portal at ${baseUrl} could not be asked${why}.`, { status: 502, cause })
    }
    if (response.status >= 500 || answer === null) {
      throw new SignInFailed(`The portal at ${baseUrl} answered with ${response.status}.`, { status: 502 })
    }
    if (!response.ok) {
      const { error = 'invalid_request', error_description: why } = answer
      throw new SignInFailed(`The portal did not take the code: ${error}${why ? ` (${why})` : ''}.`)
    }
    const { user, scope = '', access_token: accessToken, expires_in: expiresIn = 0, refresh_token } = answer
    if (!user?.id || !accessToken) throw new SignInFailed('The portal did not say who signed in.', { status: 502 })
    const player: Player = {
      id: user.id,
      name: user.name ?? '',
      imageUrl: user.image_url ?? null,
      ...(user.email ? { email: user.email } : {}),
    }
    const tokens: Tokens = { accessToken, expiresIn, scope, ...(refresh_token ? { refreshToken: refresh_token } : {}) }
    return { player, tokens }
  }

  /** Removes the states of unfinished flows when there are too many. */
  #abandoned(headers: Headers): string[] {
    const pattern = new RegExp(`(?:^|;) *(${this.#cookie('').name}[A-Za-z0-9_-]{22})=`, 'g')
    const open = [...(headers.get('cookie') ?? '').matchAll(pattern)]
    const site = cookieSite(this.#settings.origin, headers)
    // Browsers send the oldest cookie first (RFC 6265 section 5.4).
    const oldest = open.slice(0, Math.max(0, open.length - OPEN_FLOWS + 1))
    return oldest.flatMap(([, name]) => clearCookie(site, name as string))
  }

  #cookie(state: string): CookieNames {
    return cookieNames(this.#settings, 'state', `_${state}`)
  }
}

/** A success or error response of the token endpoint (RFC 6749, 5.1 and 5.2). */
interface TokenAnswer {
  access_token?: string
  expires_in?: number
  scope?: string
  refresh_token?: string
  user?: { id?: string; name?: string; email?: string; image_url?: string | null }
  error?: string
  error_description?: string
}

const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

const randomText = (bytes: number): string => base64url(crypto.getRandomValues(new Uint8Array(bytes)))

const sha256 = async (text: string): Promise<string> =>
  base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))))
