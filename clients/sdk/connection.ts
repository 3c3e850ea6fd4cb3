import { ConnectionError, errorOf, retryAfter } from './errors.ts'

export interface ClientOptions {
  /** Origin of the portal, such as `https://yard.example`. */
  baseUrl: string
  /** Origin of the Studio (assets, Blender jobs). Default: the portal's */
  studioUrl?: string | undefined
  /** An API token; needed for all but what is public. A function is asked before each request. */
  token?: string | (() => string | undefined | Promise<string | undefined>) | undefined
  /** Tries after the first, for what may be tried again. Default: 3 */
  retries?: number | undefined
  /** The longest wait before another try that is accepted of the platform, in ms; beyond it the error is thrown. Default: 60,000 */
  longestWaitMs?: number | undefined
  /** For an answer to begin, in ms; generation takes three times as long. Default: 30,000 */
  timeoutMs?: number | undefined
  /** Instead of the global one. */
  fetch?: typeof fetch | undefined
}

/** The options of every call. */
export interface CallOptions {
  signal?: AbortSignal | undefined
}

export interface RequestOptions extends CallOptions {
  query?: Record<string, string | number | boolean | undefined> | undefined
  /** Sent as JSON; a FormData or Blob as it is. */
  body?: unknown
  headers?: Record<string, string> | undefined
  /** Default: the portal */
  origin?: 'portal' | 'studio' | undefined
  /** For POST: repeated under an Idempotency-Key, so that a lost answer does not mean twice done. */
  idempotent?: boolean | undefined
  /** For POST: doing it twice is the same as doing it once, without a key. */
  repeatable?: boolean | undefined
  /** Without the token. */
  anonymous?: boolean | undefined
  timeoutMs?: number | undefined
}

/** Addresses, token and manners: what the functions of this package stand on. */
export interface Connection {
  readonly baseUrl: string
  readonly studioUrl: string
  /** The answer of any type, once it is 2xx. @throws ApiError, ConnectionError, or the signal's reason */
  send(method: string, path: string, options?: RequestOptions): Promise<Response>
  /** The same, read as JSON. */
  json<Answer>(method: string, path: string, options?: RequestOptions): Promise<Answer>
}

const SAFE = new Set(['GET', 'HEAD', 'PUT', 'DELETE'])
const FIRST_WAIT_MS = 400
const TIMEOUT_MS = 30_000

/** @throws TypeError when an address is none */
export function createConnection(options: ClientOptions): Connection {
  const baseUrl = originOf(options.baseUrl, 'baseUrl')
  const studioUrl = options.studioUrl === undefined ? baseUrl : originOf(options.studioUrl, 'studioUrl')
  const { retries = 3, longestWaitMs = 60_000 } = options
  const call = options.fetch ?? ((...request: Parameters<typeof fetch>) => fetch(...request))

  const attempt = async (method: string, url: URL, init: RequestInit, timeoutMs: number, signal?: AbortSignal) => {
    const stop = new AbortController()
    const onAbort = () => stop.abort(signal?.reason)
    signal?.addEventListener('abort', onAbort, { once: true })
    let late = false
    const timer = setTimeout(() => {
      late = true
      stop.abort()
    }, timeoutMs)
    try {
      return await call(url, { ...init, method, signal: stop.signal })
    } catch (cause) {
      if (signal?.aborted) throw signal.reason
      throw late
        ? new ConnectionError('timeout', `${url.origin} did not answer within ${timeoutMs} ms.`, { cause })
        : new ConnectionError('network', `${url.origin} could not be reached.`, { cause })
    } finally {
      // The listener stays: the answer's body is read under the caller's signal too.
      clearTimeout(timer)
    }
  }

  const send = async (method: string, path: string, request: RequestOptions = {}): Promise<Response> => {
    const {
      query = {},
      body,
      signal,
      origin,
      idempotent = false,
      timeoutMs = options.timeoutMs ?? TIMEOUT_MS,
    } = request
    signal?.throwIfAborted()
    const url = new URL(path, origin === 'studio' ? studioUrl : baseUrl)
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value))
    const headers = new Headers({ accept: 'application/json', ...request.headers })
    const token = typeof options.token === 'function' ? await options.token() : options.token
    if (token && !request.anonymous) headers.set('authorization', `Bearer ${token}`)
    if (idempotent && !headers.has('idempotency-key')) headers.set('idempotency-key', randomKey())
    let payload = body as BodyInit | undefined
    if (body !== undefined && isPlain(body)) {
      payload = JSON.stringify(body)
      headers.set('content-type', 'application/json')
    }
    const init: RequestInit = { headers, ...(payload === undefined ? {} : { body: payload }) }
    const repeatable = SAFE.has(method) || idempotent || request.repeatable === true

    for (let tries = 0; ; tries++) {
      let wait = FIRST_WAIT_MS * 2 ** tries * (0.5 + Math.random() / 2)
      try {
        const response = await attempt(method, url, init, timeoutMs, signal)
        if (response.ok) return response
        const asked = retryAfter(response.headers)
        const error = await errorOf(response)
        if (tries >= retries || !mayPass(response.status, error.code, repeatable)) throw error
        if (asked !== null) wait = Math.max(wait, asked * 1000)
        if (wait > longestWaitMs) throw error
      } catch (error) {
        if (!(error instanceof ConnectionError) || !repeatable || tries >= retries) throw error
      }
      await pause(wait, signal)
    }
  }

  return {
    baseUrl,
    studioUrl,
    send,
    json: async <Answer>(method: string, path: string, request?: RequestOptions) => {
      const response = await send(method, path, request)
      return (response.status === 204 ? undefined : await response.json()) as Answer
    },
  }
}

/** Whether another try may do better: too many requests, or trouble that passes. What is not set up stays so. */
const mayPass = (status: number, code: string, repeatable: boolean): boolean =>
  status === 429 || (status >= 500 && repeatable && !code.endsWith('_not_configured') && status !== 507)

/** Waits. @throws the signal's reason */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const onAbort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

function originOf(address: string, name: string): string {
  if (!/^https?:\/\/./.test(address))
    throw new TypeError(`${name} is ${address}: it must begin with http:// or https://.`)
  return new URL(address).origin
}

const isPlain = (body: unknown): boolean =>
  !(
    body instanceof FormData ||
    body instanceof Blob ||
    body instanceof URLSearchParams ||
    body instanceof ArrayBuffer
  ) &&
  !ArrayBuffer.isView(body) &&
  typeof body !== 'string'

/** Told apart from the caller's own others, no secret. (Node 18 and plain-http pages lack `crypto.randomUUID`.) */
const randomKey = (): string =>
  `${Date.now().toString(36)}-${Array.from({ length: 3 }, () => Math.random().toString(36).slice(2)).join('')}`
