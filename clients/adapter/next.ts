/** Next.js, App Router. */
import { type Auth, type AuthSettings, createAuth as createCore, type GameSession, type WithHeaders } from './index.ts'

export type { AuthSettings, GameSession, Player } from './index.ts'

export interface NextAuth {
  GET(request: Request): Promise<Response>
  POST(request: Request): Promise<Response>
  /** The session. Without an argument: of the current request, in pages, actions and routes. */
  getSession(request?: WithHeaders): Promise<GameSession>
}

/**
 * Creates the handlers for `app/auth/service/[...route]/route.ts`, and `getSession` for all other code.
 *
 * The settings are read at the first request, because `next build` loads every route and has no secrets.
 */
export function createAuth(settings: AuthSettings = {}): NextAuth {
  let auth: Auth | undefined
  const core = () => {
    auth ??= createCore(settings)
    return auth
  }
  const answer = async (request: Request) =>
    (await core().handle(request)) ??
    Response.json({ error: { message: 'Not found.', code: 'not_found' } }, { status: 404 })
  return {
    GET: answer,
    POST: answer,
    async getSession(request) {
      if (request) return core().getSession(request)
      const { headers } = await import('next/headers.js')
      // Before the settings: asking for headers is what tells `next build` not to render this beforehand.
      const current = await headers()
      return core().getSession(current as Headers)
    },
  }
}
