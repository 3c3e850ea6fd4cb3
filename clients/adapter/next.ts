/** The adapter for the App Router of Next.js. */
import { type Auth, type AuthSettings, createAuth as createCore, type GameSession, type WithHeaders } from './index.ts'
import { headersOf } from './request-headers.ts'
import { mustServe } from './settings.ts'

export type { AuthSettings, GameSession, Player } from './index.ts'

export interface NextAuth {
  GET(request: Request): Promise<Response>
  POST(request: Request): Promise<Response>
  /** Reads the session of a request. Without an argument it reads the current request, in pages, actions and routes. */
  getSession(request?: WithHeaders): Promise<GameSession>
}

/**
 * Creates the handlers for `app/auth/service/[...route]/route.ts`, and `getSession` for all other code.
 *
 * The settings are read at the first request, because `next build` loads every route and has no secrets. It throws
 * an AuthSettingsError then, also when `redirectUri` is not below the `basePath` of `next.config.js`.
 */
export function createAuth(settings: AuthSettings = {}): NextAuth {
  let auth: Auth | undefined
  const core = () => {
    if (auth) return auth
    const made = createCore(settings)
    // Next replaces this by the `basePath` of next.config.js; requests in its routes do not have it.
    mustServe(made.path, process.env.__NEXT_ROUTER_BASEPATH ?? '')
    auth = made
    return auth
  }
  const answer = async (request: Request) =>
    (await core().handle(request)) ??
    Response.json({ error: { message: 'Not found.', code: 'not_found' } }, { status: 404 })
  return {
    GET: answer,
    POST: answer,
    async getSession(request) {
      // The headers precede the settings: asking for them tells `next build` not to prerender this page or route.
      const current = request ? headersOf(request) : await (await import('next/headers.js')).headers()
      return core().getSession(current as Headers)
    },
  }
}
