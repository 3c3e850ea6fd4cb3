import type { Clock } from '../../../core/clock.ts'
import type { Database } from '../../../core/data/database.ts'
import { TtlCache } from '../../../core/data/ttl-cache.ts'
import type { Events } from '../../../core/events.ts'
import type { OAuthClient } from './client.ts'

/**
 * The origins whose pages may call the client endpoints (Fetch standard, CORS). They are the origins of a public
 * client's redirect URIs, for that client alone. A client with a secret calls from its server. One that registered itself
 * counts from its first consent on: anybody can register any number of clients, and all of these are in memory.
 */
export class PageOrigins {
  readonly #db: Database
  /** The cache has one entry, the origins of all public clients, because a preflight does not name its client. */
  readonly #known: TtlCache<ReadonlySet<string>>

  constructor({ db, clock, events }: { db: Database; clock: Clock; events: Events }) {
    this.#db = db
    this.#known = new TtlCache(clock)
    events.on('app.changed', () => this.#known.drop(ALL))
  }

  /** Whether a page of this origin may read the response to the client. */
  includes(client: OAuthClient, origin: string): boolean {
    const asked = comparable(origin)
    return client.publicClient && asked !== null && client.redirectUris.some((uri) => comparable(uri) === asked)
  }

  /** Whether the origin belongs to any public client. */
  async isKnown(origin: string): Promise<boolean> {
    const asked = comparable(origin)
    return asked !== null && ((await this.#known.get(ALL, () => this.#read()))?.has(asked) ?? false)
  }

  async #read(): Promise<ReadonlySet<string>> {
    const rows = await this.#db.query<{ redirect_uris: string }>(REDIRECT_URIS, [true])
    const uris = rows.flatMap((row): string[] => JSON.parse(row.redirect_uris))
    return new Set(uris.flatMap((uri) => comparable(uri) ?? []))
  }
}

const ALL = 'all'
const REDIRECT_URIS = `select redirect_uris from oauth_apps a where public_client = ? and (registration is null
  or exists (select 1 from oauth_consents c where c.client_id = a.client_id))`

/**
 * The origin of an address, without the port of a loopback address: as for redirect URIs, a native application learns
 * its port only when it starts (RFC 8252 section 7.3). Null when it has none, such as the origin `null`.
 */
function comparable(address: string): string | null {
  if (!/^https?:\/\//.test(address) || !URL.canParse(address)) return null
  const { origin, hostname } = new URL(address)
  return /^(127\.0\.0\.1|\[::1\])$/.test(hostname) && address.startsWith('http:') ? `http://${hostname}` : origin
}
