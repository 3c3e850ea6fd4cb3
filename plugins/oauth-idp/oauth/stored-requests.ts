import type { Database } from '../../../core/data/database.ts'
import { InvalidRequest } from '../../../core/errors.ts'
import type { RateLimiter } from '../../../core/http/rate-limit.ts'
import type { OneTimeTokens } from '../players/one-time-tokens.ts'

interface StoredRequestsContext {
  db: Database
  rateLimiter: RateLimiter
  tokens: OneTimeTokens
}

/** Longer queries are stored: the way back is percent-encoded again, put into cookies and forms, and sent by mail. */
const LONGEST_QUERY = 2000
/** Longer than a mailed link is valid. */
const LIFE_MS = 7_200_000
const STORED_PER_MINUTE = 30
const PARAMETER = 'stored_request'

/**
 * Long authorization requests, which wait in the database while the player signs in. Their addresses name them by a
 * random token, as pushed authorization requests do (RFC 9126).
 */
export class StoredRequests {
  readonly #context: StoredRequestsContext

  constructor(context: StoredRequestsContext) {
    this.#context = context
  }

  /**
   * Returns an address of the authorization endpoint for a request. A long one is stored.
   *
   * @param query of the authorization request
   * @param address of the caller, by which stored requests are limited
   * @throws RateLimited
   */
  async pathFor(query: string, address: string): Promise<string> {
    if (query.length <= LONGEST_QUERY) return `/oauth/authorize?${query}`
    const { db, rateLimiter, tokens } = this.#context
    await rateLimiter.take(`oauth-long-request/${address}`, STORED_PER_MINUTE, 60_000)
    const token = await tokens.issue(db.em(), 'oauth-request', { data: { query }, lifeMs: LIFE_MS })
    return `/oauth/authorize?${PARAMETER}=${token}`
  }

  /**
   * Returns the query of the authorization request that an address contains or names.
   *
   * @param search the query of the address
   * @throws InvalidRequest when the stored request has expired
   */
  async read(search: string): Promise<string> {
    if (!search.startsWith(`${PARAMETER}=`)) return search
    const row = await this.#context.tokens.find('oauth-request', search.slice(PARAMETER.length + 1))
    if (!row) throw new InvalidRequest('This sign-in took too long. Begin it again where you came from.')
    return (row.data as { query: string }).query
  }
}
