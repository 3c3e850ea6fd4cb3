import type { FastifyReply, FastifyRequest } from 'fastify'

const MOST_COOKIES = 10

/**
 * The session cookie. On https it is `__Host-session`, which no other host and no sub-path can set. On plain http that
 * prefix is not available, so a sibling site may set a second cookie: a request with more than one counts as signed
 * out.
 */
export class SessionCookie {
  readonly #name: string
  readonly #secure: boolean
  readonly #maxAgeSeconds: number
  readonly #pattern: RegExp

  constructor({ secure, maxAgeSeconds }: { secure: boolean; maxAgeSeconds: number }) {
    this.#name = secure ? '__Host-session' : 'session'
    this.#secure = secure
    this.#maxAgeSeconds = maxAgeSeconds
    this.#pattern = new RegExp(`(?:^|;)\\s*${this.#name}=([^;]*)`, 'g')
  }

  /** Returns the single value that was sent; null when there is none or more than one. */
  read(request: FastifyRequest): string | null {
    const values = this.readAll(request)
    return values.length === 1 ? (values[0] ?? null) : null
  }

  /** Returns all values that were sent. It reads the header itself, because parsers keep only one of several. */
  readAll(request: FastifyRequest): string[] {
    const header = request.headers.cookie
    if (!header) return []
    return [...header.matchAll(this.#pattern)].slice(0, MOST_COOKIES).map(([, value = '']) => value.trim())
  }

  set(reply: FastifyReply, value: string): void {
    reply.setCookie(this.#name, value, { ...this.#attributes(), maxAge: this.#maxAgeSeconds })
  }

  clear(reply: FastifyReply): void {
    reply.clearCookie(this.#name, this.#attributes())
  }

  #attributes() {
    return { path: '/', httpOnly: true, sameSite: 'lax', secure: this.#secure } as const
  }
}
