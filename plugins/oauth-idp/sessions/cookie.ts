import type { FastifyReply, FastifyRequest } from 'fastify'
import { type CookieNames, cookieNamesAt, cookieValues, valuesOf } from '../../../core/origins/cookies.ts'

const MOST_COOKIES = 10

/**
 * The session cookie. On https it is `__Host-session`, which no other host and no sub-path can set. On plain http that
 * prefix is not available, so a sibling site may set a second cookie: a request with more than one counts as signed
 * out.
 *
 * A cookie of the former name is never removed: it may belong to another server at this host name. Its session ends in
 * the database.
 */
export class SessionCookie {
  readonly #names: CookieNames
  readonly #secure: boolean
  readonly #maxAgeSeconds: number

  /** @param portal the portal's origin */
  constructor({ portal, maxAgeSeconds }: { portal: string; maxAgeSeconds: number }) {
    this.#names = cookieNamesAt(portal, { http: 'session', https: '__Host-session' })
    this.#secure = portal.startsWith('https:')
    this.#maxAgeSeconds = maxAgeSeconds
  }

  /** Returns the single value that was sent; null when there is none or more than one. */
  read(request: FastifyRequest): string | null {
    const values = valuesOf(request.headers.cookie, this.#names)
    return values.length === 1 ? (values[0] ?? null) : null
  }

  /** Returns all values that were sent, under both names, ten of each at most. */
  readAll(request: FastifyRequest): string[] {
    const { name, former } = this.#names
    return [name, former].flatMap((each) =>
      each === null ? [] : cookieValues(request.headers.cookie, each).slice(0, MOST_COOKIES),
    )
  }

  set(reply: FastifyReply, value: string): void {
    reply.setCookie(this.#names.name, value, { ...this.#attributes(), maxAge: this.#maxAgeSeconds })
  }

  clear(reply: FastifyReply): void {
    reply.clearCookie(this.#names.name, this.#attributes())
  }

  #attributes() {
    return { path: '/', httpOnly: true, sameSite: 'lax', secure: this.#secure } as const
  }
}
