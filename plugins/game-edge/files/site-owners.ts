import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { cookieNames, valuesOf } from '../../../core/origins/cookies.ts'
import type { Origins } from '../../../core/origins/origins.ts'
import type { Game } from '../../games/index.ts'
import { cookieSite, expireForeign, gameCookie, setCookie } from '../sign-in/cookies.ts'

const MOST_KNOWN = 10_000

interface Known {
  gameId: string
  inherited: boolean
  /** A domain can move to another game and back without any request on this node. A slug is reserved in between. */
  domainsRead: number
}

/**
 * Records which addresses, slugs and custom domains had another game before. It is read once a start, for domains also
 * when any has changed, and written when the game changes.
 */
export class SiteOwners {
  readonly #app: Pick<FastifyInstance, 'db' | 'origins'>
  readonly #known = new Map<string, Known>()

  constructor(app: Pick<FastifyInstance, 'db' | 'origins'>) {
    this.#app = app
  }

  /** Returns the result of `inherits` synchronously; undefined when it requires a lookup. */
  peek(address: string, gameId: string): boolean | undefined {
    const known = this.#known.get(address)
    if (known?.gameId !== gameId) return undefined
    return known.domainsRead === this.#domainsRead(address) ? known.inherited : undefined
  }

  /** Records that an address serves a game. @returns whether it served another one before */
  async inherits(address: string, gameId: string): Promise<boolean> {
    const known = this.peek(address, gameId)
    if (known !== undefined) return known
    // The version is read before the lookup, so that a concurrent change triggers another lookup.
    const domainsRead = this.#domainsRead(address)
    let row = await this.#read(address)
    if (row?.game_id !== gameId) {
      await this.#app.db.execute(
        `insert into site_owners (slug, game_id, inherited) values (?, ?, ?)
         on conflict (slug) do update set game_id = excluded.game_id, inherited = ?
         where site_owners.game_id <> excluded.game_id`,
        [address, gameId, false, true],
      )
      row = await this.#read(address)
    }
    const inherited = Boolean(row?.inherited)
    if (this.#known.size >= MOST_KNOWN) this.#known.clear()
    this.#known.set(address, { gameId, inherited, domainsRead })
    return inherited
  }

  #domainsRead(address: string): number {
    return address.includes('.') ? this.#app.origins.domainsRead : 0
  }

  async #read(address: string) {
    const [row] = await this.#app.db.query<{ game_id: string; inherited: number | boolean }>(
      'select game_id, inherited from site_owners where slug = ?',
      [address],
    )
    return row
  }
}

/** The maximum lifetime of cookies in browsers. */
const MARKER_SECONDS = 400 * 24 * 3600

/**
 * Clears browser data at an address that had another game before, above all that game's service worker, which would
 * intercept every request here. It runs once a browser, which is recorded in a cookie.
 *
 * Cookies are expired one by one. `Clear-Site-Data: "cookies"` would clear those of the whole registered domain, which
 * may include other sites of the domain's owner and the sessions of all other games. Where games share the portal's host
 * name, they stay: they are anybody's there.
 */
export function clearFormerData(
  request: IncomingMessage,
  response: ServerResponse,
  { game, host, origins }: { game: Game; host: string; origins: Pick<Origins, 'secure' | 'byPort' | 'atHost'> },
): void {
  const { headers } = request
  if (!headers.accept?.includes('text/html') && headers['service-worker'] === undefined) return
  const site = cookieSite(request, host, origins.secure)
  const names = gameCookie(origins.atHost(host), 'site')
  // The marker is renewed at every visit. Without it, the game's own data would be cleared.
  const mark = setCookie(site, names.name, game.id, MARKER_SECONDS)
  if (valuesOf(headers.cookie, names).includes(game.id)) {
    response.setHeader('set-cookie', mark)
    return
  }
  response.setHeader('clear-site-data', '"cache", "storage"')
  const foreign = origins.byPort ? [] : expireForeign(site, host, cookieNames(headers.cookie))
  response.setHeader('set-cookie', [mark, ...foreign])
}
