import type { OAuth2Namespace } from '@fastify/oauth2'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { cookieNamesAt } from '../../../core/origins/cookies.ts'
import { returnPath } from '../../../core/origins/return-path.ts'

const SECONDS = 600
/** The most unfinished sign-ins of one browser. The oldest are removed, so that the Cookie header stays small. */
const OPEN_FLOWS = 8
/** A cookie has 4 KB. A longer way back is forgotten. */
const LONGEST_PATH = 2500
const STATE = /^[A-Za-z0-9_-]{16,64}$/

/** The names under which @fastify/oauth2 keeps its values. */
export const LIBRARY_COOKIES = { redirectStateCookieName: 'state', verifierCookieName: 'verifier' } as const

/** A sign-in with a provider that this browser began. */
export interface OpenFlow {
  returnTo: string
  /** Exchanges the provider's answer for a token. Each flow does so once. */
  accessToken(flow: OAuth2Namespace): Promise<string>
}

/**
 * The cookies of sign-ins with providers: one for each sign-in, named by its state, so that several tabs may be under
 * way at once. @fastify/oauth2 has one for all, in which the last tab replaces the others.
 */
export class FlowCookies {
  readonly #portal: string
  /** The beginnings of the names: the one that is set, then the former one. */
  readonly #prefixes: readonly [string, ...string[]]
  readonly #options: { path: string; httpOnly: boolean; sameSite: 'lax'; secure: boolean }

  constructor({ portal, secure }: { portal: string; secure: boolean }) {
    this.#portal = portal
    const { name, former } = cookieNamesAt(portal, { http: 'upstream', https: '__Host-upstream' })
    this.#prefixes = former === null ? [`${name}-`] : [`${name}-`, `${former}-`]
    this.#options = { path: '/', httpOnly: true, sameSite: 'lax', secure }
  }

  /** Begins a sign-in. @returns the address at the provider */
  async begin(
    { flow, provider, returnTo }: { flow: OAuth2Namespace; provider: string; returnTo: string },
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<string> {
    const values = new Map<string, string>()
    const collecting = { setCookie: (name: string, value: string) => values.set(name, value) }
    const address = await flow.generateAuthorizationUri(request as never, collecting as never)
    const path = returnTo.length > LONGEST_PATH ? '/' : returnTo
    const value = [values.get('verifier'), Buffer.from(path).toString('base64url'), provider].join('.')
    // Browsers send the oldest cookie first (RFC 6265 section 5.4).
    const [prefix] = this.#prefixes
    const open = Object.keys(request.cookies).filter((name) => name.startsWith(prefix))
    for (const name of open.slice(0, Math.max(0, open.length - OPEN_FLOWS + 1))) reply.clearCookie(name, this.#options)
    reply.setCookie(prefix + values.get('state'), value, { ...this.#options, maxAge: SECONDS })
    return address
  }

  /**
   * Ends the sign-in that a provider answers.
   *
   * @returns null when this browser did not begin it, has ended it before, or began it too long ago
   */
  end(provider: string, request: FastifyRequest, reply: FastifyReply): OpenFlow | null {
    const { state } = request.query as { state?: unknown }
    const names = typeof state === 'string' && STATE.test(state) ? this.#prefixes.map((prefix) => prefix + state) : []
    const name = names.find((each) => request.cookies[each] !== undefined) ?? ''
    const [verifier, path = '', ...begunWith] = (request.cookies[name] ?? '').split('.')
    if (!verifier || begunWith.join('.') !== provider) return null
    reply.clearCookie(name, this.#options)
    return {
      returnTo: returnPath(Buffer.from(path, 'base64url').toString(), this.#portal),
      async accessToken(flow) {
        const asked = { query: request.query, cookies: { state, verifier } }
        const cleared = { clearCookie() {} }
        const { token } = await flow.getAccessTokenFromAuthorizationCodeFlow(asked as never, cleared as never)
        return token.access_token
      },
    }
  }
}
