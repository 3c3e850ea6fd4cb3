import { setTimeout as wait } from 'node:timers/promises'
import { isUnderWay, mayRepeat, retryAfter } from '../sdk/retryable.ts'
import { CliError } from './errors.ts'
import { hintFor } from './hints.ts'
import { ConnectionError, type HttpAnswer, type HttpRequest, IDLE_MS, send, textOf, unreachable } from './http.ts'
import { homeOf } from './platform.ts'

/** The platform's address and the caller's token. */
export interface Connection {
  /** The portal's origin. */
  baseUrl: string
  token: string
  /** The source of the token, which the message about a refused token names. */
  tokenFrom: 'environment' | 'login'
  userAgent: string
  signal?: AbortSignal
  /** Called when the platform has another address than the requested one. */
  moved?: (from: string, to: string) => Promise<void>
}

export interface ApiOptions {
  body?: unknown
  query?: Record<string, string | number | boolean | undefined>
  headers?: Record<string, string>
  /** The origin of the request, if not the portal's. */
  origin?: string
  /**
   * Whether the request is idempotent, so that it may be repeated when the platform is busy. By default only reads are.
   */
  repeatable?: boolean
  idleMs?: number
}

const ATTEMPTS = 4

/** The platform's HTTP API with one token. Its errors are sentences that include a fix. */
export class Api {
  readonly connection: Connection
  /** The platform's former address. The client follows a move only once. */
  #formerUrl: string | null = null

  constructor(connection: Connection) {
    this.connection = connection
  }

  get baseUrl(): string {
    return this.connection.baseUrl
  }

  get = <T>(path: string, options?: ApiOptions) => this.json<T>('GET', path, options)
  post = <T>(path: string, body?: unknown, options?: ApiOptions) => this.json<T>('POST', path, { ...options, body })
  patch = <T>(path: string, body: unknown, options?: ApiOptions) => this.json<T>('PATCH', path, { ...options, body })
  delete = (path: string, options?: ApiOptions) => this.json<void>('DELETE', path, options)

  /**
   * Sends a request and parses the response as JSON. A repeatable request is repeated when its answer is cut.
   *
   * @throws CliError for everything but 2xx
   */
  async json<T>(method: string, path: string, options: ApiOptions = {}): Promise<T> {
    const attempts = (options.repeatable ?? method === 'GET') ? ATTEMPTS : 1
    for (let attempt = 1; ; attempt++) {
      const answer = await this.ask(method, path, options)
      // Only the beginning of an answer takes long.
      answer.body.setTimeout(Math.min(options.idleMs ?? IDLE_MS, IDLE_MS))
      try {
        return this.#valueIn<T>(answer, await textOf(answer))
      } catch (error) {
        if (!(error instanceof ConnectionError)) throw error
        if (attempt >= attempts) throw unreachable(this.baseUrl, error)
        await wait(backOff(attempt), undefined, { signal: this.connection.signal })
      }
    }
  }

  /** @throws ConnectionError for JSON that is cut, CliError for anything else */
  #valueIn<T>({ status, headers }: HttpAnswer, text: string): T {
    if (text === '') return undefined as T
    try {
      return JSON.parse(text)
    } catch (cause) {
      if (!/\bjson\b/i.test(headers['content-type'] ?? '')) throw this.#notOurs(status)
      throw new ConnectionError(Object.assign(new Error('cut', { cause }), { code: 'ECONNRESET' }))
    }
  }

  /** Collects the entries of all pages of a list, at most `limit`. */
  async all<T>(
    path: string,
    name: string,
    { limit = Number.POSITIVE_INFINITY, ...options }: ApiOptions & { limit?: number } = {},
  ): Promise<T[]> {
    const entries: T[] = []
    let cursor: string | undefined
    do {
      const query = { ...options.query, limit: Math.min(100, limit - entries.length), cursor }
      const page = await this.get<Record<string, T[]> & { nextCursor: string | null }>(path, { ...options, query })
      if (!Array.isArray(page?.[name])) throw this.#notOurs(200)
      entries.push(...page[name])
      cursor = page.nextCursor ?? undefined
    } while (cursor && entries.length < limit)
    return entries
  }

  /**
   * Sends a request and returns the unread response, for content other than JSON. @throws CliError for everything but
   * 2xx
   */
  async ask(
    method: string,
    path: string,
    { body, query, headers, origin, repeatable, idleMs }: ApiOptions = {},
  ): Promise<HttpAnswer> {
    const { token, userAgent, signal } = this.connection
    const addressAt = (base: string) => {
      const url = new URL(path, base)
      for (const [name, value] of Object.entries(query ?? {}))
        if (value !== undefined) url.searchParams.set(name, String(value))
      return url.href
    }
    let asked = origin ?? this.baseUrl
    const stream = typeof (body as { open?: unknown } | undefined)?.open === 'function'
    const request: HttpRequest = {
      method,
      url: addressAt(asked),
      headers: {
        authorization: `Bearer ${token}`,
        'user-agent': userAgent,
        accept: 'application/json, */*;q=0.5',
        ...(body === undefined || stream ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined
        ? {}
        : { body: stream ? (body as NonNullable<HttpRequest['body']>) : JSON.stringify(body) }),
      ...(idleMs === undefined ? {} : { idleMs }),
      signal,
    }
    const attempts = (repeatable ?? method === 'GET') ? ATTEMPTS : 1
    const began = performance.now()
    for (let attempt = 1; ; attempt++) {
      try {
        const answer = await send(request)
        if (answer.status < 300) return answer
        if ((answer.status === 308 || answer.status === 421) && (await this.#follow(asked))) {
          answer.body.resume()
          asked = this.baseUrl
          request.url = addressAt(asked)
          continue
        }
        const error = await this.#errorOf(answer)
        const afterMs = retryAfterMs(answer)
        // The first request with the key of this one is still under way. Its end is waited for, and not counted.
        const underWay = attempts > 1 && isUnderWay({ status: answer.status, asksToWait: afterMs !== null })
        if (underWay && performance.now() - began < (idleMs ?? IDLE_MS)) attempt--
        else if (attempt >= attempts || !isPassing(answer.status, error.code, error.reason, afterMs !== null))
          throw error
        await wait(afterMs ?? backOff(attempt), undefined, { signal })
      } catch (error) {
        if (!(error instanceof ConnectionError)) throw error
        // A refused connection is final. A reset one may be a keep-alive connection that was open for too long.
        if (attempt >= attempts || error.code !== 'ECONNRESET') throw unreachable(asked, error)
        await wait(backOff(attempt), undefined, { signal })
      }
    }
  }

  /** Follows a platform that has moved, once. @returns whether to send the request again, to `baseUrl` */
  async #follow(asked: string): Promise<boolean> {
    if (asked === this.#formerUrl) return true
    if (asked !== this.baseUrl || this.#formerUrl !== null) return false
    const home = await homeOf(asked, this.connection.userAgent)
    if (home === asked) return false
    this.#formerUrl = asked
    this.connection.baseUrl = home
    await this.connection.moved?.(asked, home)
    return true
  }

  async #errorOf(answer: HttpAnswer): Promise<CliError> {
    const { status, headers } = answer
    if (status < 400) {
      answer.body.resume()
      const to = headers.location && URL.canParse(headers.location) ? new URL(headers.location).origin : null
      return new CliError(`${this.baseUrl} sends requests on to ${to ?? headers.location ?? 'nowhere'}.`, {
        code: 'redirected',
        hint: to ? `Use that address: --url ${to}` : 'Check the address: --url or SERVICE_BASE_URL.',
      })
    }
    const text = await textOf(answer).catch(() => '')
    const problem = problemIn(text)
    if (!problem) return this.#notOurs(status)
    const { code, message, details, reason = null } = problem
    const hint = this.#hintFor(status, { code, message })
    if (status === 401) return new CliError(`${this.baseUrl} does not accept the token.`, { code, hint })
    if (status >= 500 && code === 'internal') {
      const id = headers['x-request-id']
      return new CliError(`The platform failed: ${message}`, {
        code,
        hint: `Tell its host${id ? ` the request's id: ${id}` : ''}; its log says more.`,
      })
    }
    return new CliError(message, { code, reason, details: details ?? [], ...(hint ? { hint } : {}) })
  }

  #hintFor(status: number, { code, message }: Problem): string {
    const { baseUrl, tokenFrom } = this.connection
    if (status === 401) {
      return tokenFrom === 'environment'
        ? `It was revoked, has expired, or is mistyped. Put another into SERVICE_API_TOKEN: ${baseUrl}/settings/tokens`
        : 'It was revoked, has expired, or is mistyped. Sign in again: gameyard login'
    }
    // This is the platform's response for an address without a route.
    if (status === 404 && message === 'There is no such address.') {
      return 'The platform does not support this: it is turned off, or the platform is older than this program.'
    }
    if (code === 'missing_scope') {
      return `Create a token that has it at ${baseUrl}/settings/tokens, or sign in with full access: gameyard login`
    }
    if (code === 'insufficient_credits') return `Buy credits at ${baseUrl}/credits.`
    return hintFor({ code, message })
  }

  #notOurs(status: number): CliError {
    return new CliError(`${this.baseUrl} answered with ${status} and not as a Gameyard platform does.`, {
      code: 'unexpected_answer',
      hint:
        status >= 500
          ? 'A proxy answers instead of the platform, which may be starting or stopped. Try again in a moment.'
          : 'Check the address: --url, SERVICE_BASE_URL, or the one you signed in to.',
    })
  }
}

interface Problem {
  code: string
  message: string
  details?: { path: string; message: string }[]
  /** Why a generation failed. */
  reason?: string
}

/** Reads the error from a response, in the platform's format or, for OAuth endpoints, that of RFC 6749. */
export function problemIn(text: string): Problem | null {
  try {
    const { error, error_description, reason } = JSON.parse(text)
    if (typeof error === 'string') return { code: error, message: error_description ?? error }
    return typeof error?.message === 'string' ? { ...error, code: error.code ?? 'failed', reason } : null
  } catch {
    return null
  }
}

/** Returns whether a later attempt may succeed. A mistake of the server (500) is reported at once, for its host to see. */
export const isPassing = (status: number, code: string, reason: string | null = null, asksToWait = false): boolean =>
  status !== 500 && mayRepeat({ status, code, reason, asksToWait }, true)

/** Returns the `Retry-After` delay in milliseconds, at most half a minute; null when the response has none. */
export function retryAfterMs({ headers }: HttpAnswer): number | null {
  const seconds = retryAfter((name) => headers[name]?.toString())
  return seconds === null ? null : Math.min(seconds, 30) * 1000
}

/** Returns the delay before the next attempt in milliseconds. It doubles each time and has jitter. */
export const backOff = (attempt: number): number => 250 * 2 ** attempt * (0.5 + Math.random() / 2)
