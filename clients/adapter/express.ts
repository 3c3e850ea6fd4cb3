/** The adapter for Express, Connect and plain `node:http`. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { parseAddress } from './address.ts'
import { type Auth, type AuthSettings, createAuth as createCore } from './index.ts'

export type { AuthSettings, GameSession, Player } from './index.ts'

export interface AuthMiddleware {
  (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void): Promise<void>
  /** Reads the session in the game's own routes. */
  getSession: Auth['getSession']
}

/**
 * Creates middleware that answers the four sign-in routes and passes every other request on: `app.use(createAuth())`.
 *
 * @throws AuthSettingsError when a setting is missing or can't be used
 */
export function createAuth(settings: AuthSettings = {}): AuthMiddleware {
  const auth = createCore(settings)
  const middleware = async (
    request: IncomingMessage & { originalUrl?: string },
    response: ServerResponse,
    next?: (error?: unknown) => void,
  ): Promise<void> => {
    try {
      const answer = await auth.handle(requestOf(request))
      if (answer) await send(answer, response)
      else if (next) next()
      else response.writeHead(404).end()
    } catch (error) {
      if (!next) throw error
      next(error)
    }
  }
  return Object.assign(middleware, { getSession: auth.getSession })
}

/** Builds a Request from the method, address and headers. It has no body, because sign-in routes read none. */
function requestOf(request: IncomingMessage & { originalUrl?: string }): Request {
  const headers = new Headers()
  for (const [name, value] of Object.entries(request.headers)) {
    // Pseudo-headers of HTTP/2 begin with a colon.
    if (value !== undefined && !name.startsWith(':')) headers.set(name, [value].flat().join(', '))
  }
  const path = request.originalUrl ?? request.url ?? '/'
  return new Request(parseAddress(path, 'http://game') ?? 'http://game/', { method: request.method ?? 'GET', headers })
}

async function send(answer: Response, response: ServerResponse): Promise<void> {
  response.statusCode = answer.status
  for (const [name, value] of answer.headers) if (name !== 'set-cookie') response.setHeader(name, value)
  // Other middleware may have set cookies already, so this appends.
  for (const cookie of answer.headers.getSetCookie()) response.appendHeader('set-cookie', cookie)
  response.end(await answer.text())
}
