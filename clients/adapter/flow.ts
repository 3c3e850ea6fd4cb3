import { clearCookie, cookieName, cookieSite, cookieValues, setCookie } from './cookies.ts'
import { returnPath } from './return-to.ts'
import { SealedTokens } from './sealed-tokens.ts'
import type { Player, ResolvedSettings, Tokens } from './settings.ts'

/** The content of the state cookie, between start and callback. */
interface Flow {
  state: string
  verifier: string
  returnTo: string
  embedded: boolean
}

const FLOW_SECONDS = 600
/** Flows begun and not ended, in one browser; beyond it they go, so that the Cookie header stays small. */
const OPEN_FLOWS = 8
const STATE = /^[A-Za-z0-9_-]{22}$/
/** Answers to `prompt=none` that mean: not without the player's doing (OpenID Connect Core 3.1.2.6). */
const QUIET_REFUSALS = new Set(['login_required', 'consent_required', 'interaction_required'])
const TIMEOUT_MS = 15_000

/** Where the browser goes next, and the cookies it takes along. */
export interface Step {
  location: string
  cookies: string[]
  /** The player, after a sign-in. */
  signedIn?: { player: Player; tokens: Tokens }
}

/** The sign-in could not be ended. */
export class SignInFailed extends Error {
  override name = 'SignInFailed'
  readonly status: 400 | 502

  /** @param status 400; 502 when the portal could not be asked */
  constructor(message: string, { status = 400, cause }: { status?: 400 | 502; cause?: unknown } = {}) {
    super(message, { cause })
    this.status = status
  }
}

/**
 * The authorization code flow with PKCE (RFC 6749, 7636). Each flow has its own sealed state cookie, named by the
 * state, so that two tabs may sign in at once and the server stores nothing.
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
   * Query: `returnTo`, a path of the game; `embed=1`, when the game is in a frame of the portal, where no page may be
   * shown: the portal then answers at once.
   */
  async start(headers: Headers, query: URLSearchParams): Promise<Step> {
    const { origin, now, baseUrl, clientId, redirectUri, scope } = this.#settings
    const state = randomText(16)
    const verifier = randomText(32)
    const embedded = query.get('embed') === '1'
    const flow: Flow = { state, verifier, embedded, returnTo: returnPath(query.get('returnTo'), origin) }
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
    const cookies = [...this.#abandoned(headers), setCookie(site, stateCookie(state), sealed, FLOW_SECONDS)]
    return { location: location.href, cookies }
  }

  /**
   * Ends a sign-in by redeeming the code. In a frame every failure ends at the game, signed out: many browsers keep no
   * cookie there, and an error page in place of the game helps nobody.
   *
   * @throws SignInFailed when the state is not this browser's, or the code is invalid
   */
  async finish(headers: Headers, query: URLSearchParams): Promise<Step> {
    try {
      return await this.#finish(headers, query)
    } catch (error) {
      if (!(error instanceof SignInFailed) || headers.get('sec-fetch-dest') !== 'iframe') throw error
      return { location: '/', cookies: [] }
    }
  }

  async #finish(headers: Headers, query: URLSearchParams): Promise<Step> {
    const { origin, baseUrl, now } = this.#settings
    const state = query.get('state') ?? ''
    const site = cookieSite(origin, headers)
    const name = stateCookie(state)
    const sealed = STATE.test(state) ? cookieValues(headers, cookieName(name, site.secure)) : []
    const flow = sealed.length === 1 ? await this.#states.open<Flow>(sealed[0] as string, now()) : null
    if (!flow || flow.state !== state) {
      throw new SignInFailed('This sign-in began in another browser, or too long ago.')
    }
    const issuer = query.get('iss')
    if (issuer !== null && issuer !== baseUrl) throw new SignInFailed('This answer is not from the portal.')
    const cookies = clearCookie(site, name)
    const error = query.get('error')
    if (error !== null) {
      // The player said no, or could not be asked inside a frame: back to the game, signed out.
      if (error === 'access_denied' || (flow.embedded && QUIET_REFUSALS.has(error))) {
        return { location: flow.returnTo, cookies }
      }
      throw new SignInFailed('The portal refused the sign-in.')
    }
    const code = query.get('code')
    if (!code) throw new SignInFailed('The code is missing.')
    return { location: flow.returnTo, cookies, signedIn: await this.#redeem(code, flow.verifier) }
  }

  /** Server to server: the only place that the client secret goes to. */
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
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      })
      answer = (await response.json().catch(() => null)) as TokenAnswer | null
    } catch (cause) {
      throw new SignInFailed(`The portal at ${baseUrl} could not be asked.`, { status: 502, cause })
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

  /** Removes the states of flows that nobody ended, once there are too many. */
  #abandoned(headers: Headers): string[] {
    const pattern = /(?:^|;) *(?:__Host-)?(service_state_[A-Za-z0-9_-]{22})=/g
    const open = [...(headers.get('cookie') ?? '').matchAll(pattern)]
    const site = cookieSite(this.#settings.origin, headers)
    return open.length < OPEN_FLOWS ? [] : open.flatMap(([, name]) => clearCookie(site, name as string))
  }
}

/** The token endpoint's answer, good or bad (RFC 6749, 5.1 and 5.2). */
interface TokenAnswer {
  access_token?: string
  expires_in?: number
  scope?: string
  refresh_token?: string
  user?: { id?: string; name?: string; email?: string; image_url?: string | null }
  error?: string
  error_description?: string
}

const stateCookie = (state: string): string => `service_state_${state}`

const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

const randomText = (bytes: number): string => base64url(crypto.getRandomValues(new Uint8Array(bytes)))

const sha256 = async (text: string): Promise<string> =>
  base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))))
