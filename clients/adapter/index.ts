/**
 * Player sign-in for a game with its own server, on web-standard Request and Response. It runs on Node 20.9 and later,
 * Deno, Bun and Cloudflare Workers. Express, Next.js, Fastify and Hono have wrappers beside this file.
 */
import { SignInFailed, SignInFlow, SignInOver, type Step } from './flow.ts'
import { isPrefetch, showsPages, signInFailedPage } from './pages.ts'
import { headersOf, type WithHeaders } from './request-headers.ts'
import { returnPath } from './return-to.ts'
import { type GameSession, Sessions } from './sessions.ts'
import { type AuthSettings, resolveSettings } from './settings.ts'

export type { WithHeaders } from './request-headers.ts'
export type { GameSession } from './sessions.ts'
export { type AuthSettings, AuthSettingsError, type Player, type Tokens } from './settings.ts'

export interface Auth {
  /**
   * Answers the four routes below `/auth/service/`, whatever precedes these words in the path. Returns null for any
   * other path, which belongs to the game.
   */
  handle(request: Request): Promise<Response | null>
  /** Reads the session in the game's own routes. */
  getSession(request: WithHeaders): Promise<GameSession>
  /** The path below which the game is at its origin, by `redirectUri`: `/pong`, or empty. */
  readonly path: string
}

/** @throws AuthSettingsError when a setting is missing or can't be used */
export function createAuth(settings: AuthSettings = {}): Auth {
  const resolved = resolveSettings(settings)
  const flow = new SignInFlow(resolved)
  const sessions = new Sessions(resolved)

  const routes: Record<string, { methods: string[]; answer: (request: Request, url: URL) => Promise<Response> }> = {
    start: {
      methods: ['GET'],
      answer: async ({ headers }, { searchParams }) => redirect(await flow.start(headers, searchParams)),
    },
    callback: {
      methods: ['GET'],
      answer: async ({ headers }, { searchParams }) => {
        const step: Step = await flow.finish(headers, searchParams).catch(async (error): Promise<Step> => {
          // The page was reloaded, or reached by the Back button, after the sign-in.
          const isSignedIn = error instanceof SignInOver && (await sessions.read(headers)).signedIn
          if (isSignedIn) return { location: `${resolved.path}/`, cookies: [] }
          throw error
        })
        if (!step.signedIn) return redirect(step)
        const { player, tokens } = step.signedIn
        await resolved.onSignIn(player, tokens)
        return redirect({
          ...step,
          cookies: [...step.cookies, ...(await sessions.start(headers, player, tokens.scope))],
        })
      },
    },
    session: {
      methods: ['GET'],
      answer: async ({ headers }) =>
        withCookies(json(200, await sessions.read(headers), { vary: 'Cookie' }), await sessions.renew(headers)),
    },
    logout: {
      methods: ['GET', 'POST'],
      answer: async ({ headers }, { searchParams }) => {
        const cookies = await sessions.end(headers)
        // Links and forms return to the game; scripts get a JSON response.
        if (showsPages(headers)) {
          return redirect({ location: returnPath(searchParams.get('returnTo'), resolved), cookies }, 303)
        }
        return withCookies(json(200, { signedIn: false }), cookies)
      },
    },
  }

  return {
    async handle(request) {
      const url = new URL(request.url, resolved.origin)
      // A proxy may remove the path below which the game is, and some frameworks end each path with a slash.
      const [, name] = /\/auth\/service\/([^/]*)\/?$/.exec(url.pathname) ?? []
      if (name === undefined) return null
      const route = Object.hasOwn(routes, name) ? routes[name] : undefined
      if (!route) return refusal(404, 'not_found', 'There is no such address.')
      if (!route.methods.includes(request.method === 'HEAD' ? 'GET' : request.method)) {
        const allow = route.methods.join(', ')
        return refusal(405, 'method_not_allowed', `This address takes ${allow}.`, { allow })
      }
      // A service worker at these addresses would outlive the page and intercept the game's sign-in requests.
      if (request.headers.get('service-worker') === 'script') {
        return refusal(403, 'forbidden', 'This address is no service worker.')
      }
      // Browsers and frameworks prefetch links, which must neither sign anybody out nor begin a sign-in.
      if (name !== 'session' && isPrefetch(request.headers)) {
        return refusal(403, 'prefetch', 'This address has an effect, so it is not fetched in advance.')
      }
      try {
        return await route.answer(request, url)
      } catch (error) {
        if (!(error instanceof SignInFailed)) throw error
        console.warn(`Sign-in failed: ${error.message}`)
        if (showsPages(request.headers)) return page(error.status, signInFailedPage(error.message, resolved.path))
        return refusal(error.status, error.status === 400 ? 'sign_in_failed' : 'upstream_error', error.message)
      }
    },
    getSession: (request) => sessions.read(headersOf(request)),
    path: resolved.path,
  }
}

/**
 * An isolated play page loads the start of a sign-in in a frame. Without CORP, each redirect or refusal would show as
 * an error page.
 */
const COMMON = { 'cache-control': 'no-store', 'cross-origin-resource-policy': 'cross-origin' }

const json = (status: number, body: unknown, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), {
    status,
    headers: { ...COMMON, 'content-type': 'application/json; charset=utf-8', ...headers },
  })

const refusal = (status: number, code: string, message: string, headers?: Record<string, string>): Response =>
  json(status, { error: { message, code } }, headers)

const page = (status: number, body: string): Response =>
  new Response(body, {
    status,
    headers: {
      ...COMMON,
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
    },
  })

const redirect = ({ location, cookies }: Step, status = 302): Response =>
  withCookies(new Response(null, { status, headers: { ...COMMON, location } }), cookies)

function withCookies(response: Response, cookies: string[]): Response {
  for (const cookie of cookies) response.headers.append('set-cookie', cookie)
  return response
}
