import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { NotFound } from '../../../core/errors.ts'
import { randomText } from '../../../core/ids.ts'
import { type CookieNames, cookieNames, valuesOf } from '../../../core/origins/cookies.ts'
import type { Game } from '../../games/index.ts'
import { InvalidGrant } from '../../oauth-idp/index.ts'
import { SignInFailed } from '../errors.ts'
import { clearCookie, cookieSite, gameCookie, setCookie } from './cookies.ts'
import { gamePath } from './game-path.ts'
import { SealedTokens } from './sealed-tokens.ts'
import type { GameSessions } from './sessions.ts'

/** The content of the state cookie, between start and callback. */
interface Flow {
  verifier: string
  returnTo: string
  embedded: boolean
}

/** The scope of hosted games. */
export const SIGN_IN_SCOPE = 'profile'
/** The page of the window that signs a frame in. */
const WINDOW_PATH = '/auth/service/window'
const FLOW_SECONDS = 600
/**
 * The maximum number of unfinished flows in one browser. The oldest are removed, so that the Cookie header stays small.
 */
const OPEN_FLOWS = 8
const STATE = /^[A-Za-z0-9_-]{22}$/
/** The errors of `prompt=none` that require the player's interaction (OpenID Connect Core 3.1.2.6). */
const QUIET_REFUSALS = new Set(['login_required', 'consent_required', 'interaction_required'])

/** The browser's next address, and the cookies to set. */
export interface Step {
  location: string
  cookies: string[]
}

/**
 * The sign-in of a game at this platform's portal: the authorization code flow with PKCE (RFC 6749, 7636), as any other
 * game would do it, except that the code is redeemed inside the process.
 *
 * Each flow has its own state cookie, named by the state, so that two tabs may sign in at once. The cookie is sealed,
 * so the server stores nothing.
 */
export class SignInFlow {
  readonly #app: FastifyInstance
  readonly #sessions: GameSessions
  readonly #states: SealedTokens

  constructor(app: FastifyInstance, sessions: GameSessions) {
    this.#app = app
    this.#sessions = sessions
    const keys = app.keyRings.ring('sessions', 'game-edge/state', FLOW_SECONDS * 1000)
    this.#states = new SealedTokens(keys, 'sign-in-state')
  }

  /**
   * Begins a sign-in with a redirect to the portal's authorization endpoint.
   *
   * @param query `embedded`: the game is in a frame, where no page may be shown, so the portal answers at once;
   *   `window`: a window that signs a frame in, and to which the flow returns
   * @throws SignInFailed when the game has no OAuth application
   */
  async start(
    request: IncomingMessage,
    host: string,
    game: Game,
    query: { returnTo?: string | undefined; embedded: boolean; window?: boolean },
  ): Promise<Step> {
    const application = await this.#app.identity.apps.find(game.clientId)
    if (!application) throw new SignInFailed('This game has no sign-in.')
    const state = randomText(16)
    const verifier = randomText(32)
    const origin = this.#app.origins.atHost(host)
    const returnTo = query.window ? WINDOW_PATH : gamePath(query.returnTo, origin)
    const flow: Flow = { verifier, returnTo, embedded: query.embedded }
    const expiresAt = new Date(this.#app.clock.now().getTime() + FLOW_SECONDS * 1000)
    const site = cookieSite(request, host, this.#app.origins.secure)
    const sealed = await this.#states.seal({ ...flow, state }, host, expiresAt)

    const location = new URL('/oauth/authorize', this.#app.origins.portal)
    location.search = new URLSearchParams({
      response_type: 'code',
      client_id: application.clientId,
      redirect_uri: callbackOf(origin),
      scope: SIGN_IN_SCOPE,
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...(query.embedded ? { prompt: 'none' } : {}),
    }).toString()
    return {
      location: location.href,
      cookies: [
        ...this.#abandoned(request, origin, site),
        setCookie(site, stateCookie(origin, state).name, sealed, FLOW_SECONDS),
      ],
    }
  }

  /**
   * Ends a sign-in: redeems the code and signs the player in.
   *
   * @throws SignInFailed (400) when the state is not this browser's, or the code is invalid
   * @throws NotFound when the game is private and this player may not see it
   */
  async finish(
    request: IncomingMessage,
    host: string,
    game: Game,
    query: Partial<Record<'code' | 'state' | 'error' | 'iss', string>>,
  ): Promise<Step> {
    const { secure, portal } = this.#app.origins
    const state = query.state ?? ''
    const names = stateCookie(this.#app.origins.atHost(host), state)
    const sealed = STATE.test(state) ? valuesOf(request.headers.cookie, names) : []
    const flow =
      sealed.length === 1
        ? await this.#states.open<Flow & { state: string }>(sealed[0] as string, host, this.#app.clock.now())
        : null
    if (!flow || flow.state !== state) {
      // The page was reloaded, or reached by the Back button, after the sign-in.
      if (await this.#sessions.read(request, host, game)) return { location: '/', cookies: [] }
      throw new SignInFailed(
        'This sign-in is finished, took longer than ten minutes, or began in another browser or at another address.',
      )
    }
    if (query.iss !== undefined && query.iss !== portal) throw new SignInFailed('This answer is not from the portal.')
    const cookies = clearCookie(cookieSite(request, host, secure), names.name)
    if (query.error !== undefined) {
      // The player refused, or could not be asked inside a frame. The redirect returns to the game, signed out.
      if (query.error === 'access_denied' || (flow.embedded && QUIET_REFUSALS.has(query.error))) {
        return { location: flow.returnTo, cookies }
      }
      throw new SignInFailed('The portal refused the sign-in.')
    }
    if (!query.code) throw new SignInFailed('The code is missing.')

    const application = await this.#app.identity.apps.find(game.clientId)
    if (!application) throw new SignInFailed('This game has no sign-in.')
    const { player, scope, consentId, sessionId } = await this.#redeem(
      application.clientId,
      host,
      query.code,
      flow.verifier,
    )
    if (!this.#app.games.visibleTo(player.id, game)) throw new NotFound('game')
    const session = await this.#sessions.start(request, host, game, {
      player: { id: player.id, name: player.name, imageUrl: player.imageUrl },
      scope: scope.join(' '),
      clientId: application.clientId,
      consentId,
      sessionId,
      isOfFrame: false,
    })
    this.#app.games.count.signIn(game.id, player.id)
    return { location: flow.returnTo, cookies: [...cookies, ...session] }
  }

  async #redeem(clientId: string, host: string, code: string, codeVerifier: string) {
    const redirectUri = callbackOf(this.#app.origins.atHost(host))
    try {
      return await this.#app.identity.codes.redeem({ clientId, code, redirectUri, codeVerifier })
    } catch (error) {
      if (!(error instanceof InvalidGrant)) throw error
      throw new SignInFailed('The code is not valid: it may be used up or expired.').with({ cause: error })
    }
  }

  /** Removes the states of abandoned flows once there are too many. */
  #abandoned(request: IncomingMessage, origin: string, site: ReturnType<typeof cookieSite>): string[] {
    const prefix = stateCookie(origin, '').name
    const open = cookieNames(request.headers.cookie).filter((name) => name.startsWith(prefix))
    // Browsers send the oldest cookie first (RFC 6265 section 5.4).
    const oldest = open.slice(0, Math.max(0, open.length - OPEN_FLOWS + 1))
    return oldest.flatMap((name) => clearCookie(site, name))
  }
}

const callbackOf = (origin: string): string => `${origin}/auth/service/callback`
const stateCookie = (origin: string, state: string): CookieNames => gameCookie(origin, 'state', `_${state}`)
