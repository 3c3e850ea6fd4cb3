import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { cookieValues } from '../../../core/http.ts'
import type { Game } from '../../games/index.ts'
import { cookieName, cookieSite, setCookie } from '../sign-in/cookies.ts'

const MOST_KNOWN = 10_000

/** Which addresses had another game before: read once a start, written when the game changes. */
export class SiteOwners {
  readonly #db: FastifyInstance['db']
  readonly #known = new Map<string, { gameId: string; inherited: boolean }>()

  constructor(db: FastifyInstance['db']) {
    this.#db = db
  }

  /** Notes that a game is served at a slug. @returns whether another one was before */
  async inherits(slug: string, gameId: string): Promise<boolean> {
    const known = this.#known.get(slug)
    if (known?.gameId === gameId) return known.inherited
    let row = await this.#read(slug)
    if (row?.game_id !== gameId) {
      await this.#db.execute(
        `insert into site_owners (slug, game_id, inherited) values (?, ?, ?)
         on conflict (slug) do update set game_id = excluded.game_id, inherited = ?
         where site_owners.game_id <> excluded.game_id`,
        [slug, gameId, false, true],
      )
      row = await this.#read(slug)
    }
    const inherited = Boolean(row?.inherited)
    if (this.#known.size >= MOST_KNOWN) this.#known.clear()
    this.#known.set(slug, { gameId, inherited })
    return inherited
  }

  async #read(slug: string) {
    const [row] = await this.#db.query<{ game_id: string; inherited: number | boolean }>(
      'select game_id, inherited from site_owners where slug = ?',
      [slug],
    )
    return row
  }
}

const MARKER = 'service_site'
const MARKER_SECONDS = 400 * 24 * 3600

/**
 * At an address that had another game before: has the browser throw away what that one may have left, its service
 * worker above all, which would stand before everything here. Once a browser, which is marked by a cookie; the old
 * game's cookies are worth nothing here, and throwing them away would take the mark along.
 */
export function clearLeftovers(
  request: IncomingMessage,
  response: ServerResponse,
  { game, host, secure }: { game: Game; host: string; secure: boolean },
): void {
  const { headers } = request
  if (!headers.accept?.includes('text/html') && headers['service-worker'] === undefined) return
  if (cookieValues(headers.cookie, cookieName(MARKER, secure)).includes(game.id)) return
  response.setHeader('clear-site-data', '"cache", "storage"')
  response.setHeader('set-cookie', setCookie(cookieSite(request, host, secure), MARKER, game.id, MARKER_SECONDS))
}
