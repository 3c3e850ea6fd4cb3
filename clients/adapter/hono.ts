/** Hono, on whatever runtime it runs. */
import { type Auth, type AuthSettings, createAuth as createCore } from './index.ts'

export type { AuthSettings, GameSession, Player } from './index.ts'

/** The used part of Hono's context. */
interface Context {
  req: { raw: Request }
}

export interface HonoAuth {
  (context: Context, next: () => Promise<void>): Promise<Response | undefined>
  /** The session, for the game's own routes: `getSession(context.req.raw)`. */
  getSession: Auth['getSession']
}

/** Middleware that answers the four sign-in routes and passes everything else on: `app.use(createAuth())`. */
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
