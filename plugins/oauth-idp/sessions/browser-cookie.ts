import type { FastifyReply, FastifyRequest } from 'fastify'
import { randomText } from '../../../core/ids.ts'
import { type CookieNames, cookieNamesAt, valuesOf } from '../../../core/origins/cookies.ts'
import { hashSecret } from '../secret-hash.ts'

const SECONDS = 3600
const VALUE = /^[A-Za-z0-9_-]{22}$/

/**
 * A random value by which a browser is known again for an hour, before anybody is signed in. What begins in it, such as
 * a mailed link or the challenge of a passkey, is bound to the value's hash.
 */
export class BrowserCookie {
  readonly #names: CookieNames
  readonly #options: { path: string; httpOnly: boolean; sameSite: 'lax'; secure: boolean; maxAge: number }

  /** @param portal the portal's origin */
  constructor(portal: string) {
    this.#names = cookieNamesAt(portal, { http: 'browser', https: '__Host-browser' })
    const secure = portal.startsWith('https:')
    this.#options = { path: '/', httpOnly: true, sameSite: 'lax', secure, maxAge: SECONDS }
  }

  /** Gives the browser a value, or its value another hour. @returns the value's hash */
  mark(request: FastifyRequest, reply: FastifyReply): string {
    const value = this.#valueIn(request) ?? randomText(16)
    reply.setCookie(this.#names.name, value, this.#options)
    return hashSecret(value)
  }

  /** Returns the hash of the browser's value; null without one. */
  read(request: FastifyRequest): string | null {
    const value = this.#valueIn(request)
    return value === null ? null : hashSecret(value)
  }

  #valueIn(request: FastifyRequest): string | null {
    const [value, ...others] = valuesOf(request.headers.cookie, this.#names)
    return value !== undefined && others.length === 0 && VALUE.test(value) ? value : null
  }
}
