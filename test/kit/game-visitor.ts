import { decide } from './oauth.ts'
import type { Platform, PlayerClient } from './platform.ts'

/** The origin of a game with its own server, unless a test says otherwise. */
export const GAME_ORIGIN = 'http://relay.localhost:3000'

/** A browser without pages for one game with its own server. It calls a handler, and stores the game's cookies. */
export class GameVisitor {
  readonly cookies = new Map<string, string>()
  readonly #answer: (request: Request) => Promise<Response>

  constructor(answer: (request: Request) => Promise<Response>) {
    this.#answer = answer
  }

  async ask(
    path: string,
    { method = 'GET', headers = {} }: { method?: string; headers?: Record<string, string> } = {},
  ) {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await this.#answer(
      new Request(new URL(path, GAME_ORIGIN), { method, headers: { ...(cookie ? { cookie } : {}), ...headers } }),
    )
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/Max-Age=0\b/.test(line)) this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
    return response
  }

  /** Runs a sign-in from the start to the response of the callback. */
  async signIn(platform: Platform, player: PlayerClient, path = '/auth/service/start', headers = {}) {
    const start = await this.ask(path, { headers })
    return this.ask(await approved(platform, player, String(start.headers.get('location'))), { headers })
  }

  session = async () => (await this.ask('/auth/service/session')).json()
}

/** Returns the path to which the portal redirects the player, after a consent where one is required. */
export async function approved(platform: Platform, player: PlayerClient, location: string): Promise<string> {
  const { origin, pathname, search } = new URL(location)
  if (origin !== platform.portal) throw new Error(`Sent to ${origin}.`)
  const asked = await player.get(pathname + search)
  const answer = asked.status === 200 ? await decide(player, pathname + search, 'allow') : asked
  const back = new URL(answer.headers.location as string)
  return back.pathname + back.search
}

/** Returns a handler that sends requests to a server at a port of this machine, as a proxy in front of a game would. */
export const proxyTo =
  (port: number) =>
  ({ url, method, headers }: Request): Promise<Response> => {
    const { pathname, search } = new URL(url)
    return fetch(`http://127.0.0.1:${port}${pathname}${search}`, { method, headers, redirect: 'manual' })
  }
