/** The adapter for Hono on any runtime. */
import { type Auth, type AuthSettings, createAuth as createCore } from './index.ts'

export type { AuthSettings, GameSession, Player } from './index.ts'

/** The part of Hono's context that the adapter uses. */
interface Context {
  req: { raw: Request }
}

export interface HonoAuth {
  (context: Context, next: () => Promise<void>): Promise<Response | undefined>
  /** Reads the session in the game's own routes: `getSession(context.req.raw)`. */
  getSession: Auth['getSession']
}

/**
 * Creates middleware that answers the four sign-in routes and passes on every other request: `app.use(createAuth())`.
 */
export function createAuth(settings: AuthSettings = {}): HonoAuth {
  const auth = createCore(settings)
  const middleware = async ({ req }: Context, next: () => Promise<void>) => {
    const answer = await auth.handle(req.raw)
    if (answer) return answer
    await next()
    return undefined
  }
  return Object.assign(middleware, { getSession: auth.getSession })
}
