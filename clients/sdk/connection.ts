import { ConnectionError, errorOf } from './errors.ts'
import { limitBody, readJson } from './response-body.ts'
import { isUnderWay, mayRepeat, retryAfter } from './retryable.ts'

export interface ClientOptions {
  /** The portal's origin, such as `https://yard.example`. */
  baseUrl: string
  /** The Studio's origin, for assets and Blender jobs. Default: the portal's */
  studioUrl?: string | undefined
  /** An API token, which all but public operations need. A function is called before each request. */
  token?: string | (() => string | undefined | Promise<string | undefined>) | undefined
  /** The maximum number of retries. Default: 3 */
  retries?: number | undefined
  /**
   * The longest delay that the platform may request before a retry, in ms. A longer one throws the error. Default:
   * 60,000
   */
  longestWaitMs?: number | undefined
  /**
   * The time limit for the start of a response, and for each silence in its body, in ms. Work that takes long, such as a
   * generation, has longer limits of its own for its start. Default: 30,000
   */
  timeoutMs?: number | undefined
  /** Replaces the global `fetch`. */
  fetch?: typeof fetch | undefined
}

/** The options of every call. */
export interface CallOptions {
  signal?: AbortSignal | undefined
}

type QueryValue = string | number | boolean | undefined

export interface RequestOptions extends CallOptions {
  /** A parameter with several values is repeated. */
  query?: Record<string, QueryValue | readonly QueryValue[]> | undefined
  /** The body: a FormData or Blob is sent unchanged, anything else as JSON. */
  body?: unknown
  headers?: Record<string, string> | undefined
  /** Default: the portal */
  origin?: 'portal' | 'studio' | undefined
  /** For POST: sends an Idempotency-Key, so that a retry after a lost response does not repeat the operation. */
  idempotent?: boolean | undefined
  /** For POST: the operation is idempotent without a key. */
  repeatable?: boolean | undefined
  /** Sends the request without the token. */
  anonymous?: boolean | undefined
  /** The time limit for the start of the response in ms. */
  timeoutMs?: number | undefined
  /** The longest silence in the body of the response in ms. */
  silenceMs?: number | undefined
}

/** The addresses, token and retry rules for all functions of this package. */
export interface Connection {
  readonly baseUrl: string
  readonly studioUrl: string
  /**
   * Sends a request and returns a 2xx response of any type. Its body fails with the same errors. Read or cancel it: the
   * caller's signal applies to it until its end. @throws ApiError, ConnectionError, or the signal's reason
   */
  send(method: string, path: string, options?: RequestOptions): Promise<Response>
  /**
   * Sends a request and reads its 2xx response. A connection that breaks meanwhile is a reason to repeat the request, as
   * one that breaks before.
   */
  receive<Result>(
    method: string,
    path: string,
    options: RequestOptions | undefined,
    read: (response: Response) => Promise<Result>,
  ): Promise<Result>
  /** Sends a request and parses the response as JSON. */
  json<Answer>(method: string, path: string, options?: RequestOptions): Promise<Answer>
}

const SAFE = new Set(['GET', 'HEAD', 'PUT', 'DELETE'])
const FIRST_WAIT_MS = 400
/** The longest delay between two questions whether the first request with a key has ended. */
const POLL_MS = 5000
const TIMEOUT_MS = 30_000

/** @throws TypeError when an address is invalid */
export function createConnection(options: ClientOptions): Connection {
  const baseUrl = originOf(options.baseUrl, 'baseUrl')
  const studioUrl = options.studioUrl === undefined ? baseUrl : originOf(options.studioUrl, 'studioUrl')
  const { retries = 3, longestWaitMs = 60_000 } = options
  const call = options.fetch ?? ((...request: Parameters<typeof fetch>) => fetch(...request))

  const attempt = async (url: URL, init: RequestInit, { timeoutMs, silenceMs, signal }: Limits) => {
    const stop = new AbortController()
    const onAbort = () => stop.abort(signal?.reason)
    signal?.addEventListener('abort', onAbort, { once: true })
    const ended = () => signal?.removeEventListener('abort', onAbort)
    let late = ''
    const stopAt = (what: string) => () => {
      late = what
      stop.abort()
    }
    const failure = (cut: string) => (cause: unknown) =>
      signal?.aborted
        ? signal.reason
        : new ConnectionError(late ? 'timeout' : 'network', `${url.origin} ${late || cut}.`, { cause })
    const timer = setTimeout(stopAt(`did not answer within ${timeoutMs} ms`), timeoutMs)
    try {
      const response = await call(url, { ...init, signal: stop.signal })
      return limitBody(response, {
        silenceMs,
        stop: stopAt(`sent nothing for ${silenceMs} ms in the middle of a response`),
        failure: failure('cut a response before its end'),
        ended,
      })
    } catch (cause) {
      ended()
      throw failure('could not be reached')(cause)
    } finally {
      clearTimeout(timer)
    }
  }

  const receive = async <Result>(
    method: string,
    path: string,
    request: RequestOptions = {},
    read: (response: Response) => Promise<Result>,
  ): Promise<Result> => {
    const { query = {}, body, signal, origin, idempotent = false } = request
    const usualMs = options.timeoutMs ?? TIMEOUT_MS
    const { timeoutMs = usualMs, silenceMs = usualMs } = request
    signal?.throwIfAborted()
    const url = new URL(path, origin === 'studio' ? studioUrl : baseUrl)
    for (const [name, value] of Object.entries(query))
      for (const each of [value].flat()) if (each !== undefined) url.searchParams.append(name, String(each))
    const headers = new Headers({ accept: 'application/json', ...request.headers })
    const token = typeof options.token === 'function' ? await options.token() : options.token
    if (token && !request.anonymous) headers.set('authorization', `Bearer ${token}`)
    if (idempotent && !headers.has('idempotency-key')) headers.set('idempotency-key', randomKey())
    let payload = body as BodyInit | undefined
    if (body !== undefined && isPlain(body)) {
      payload = JSON.stringify(body)
      headers.set('content-type', 'application/json')
    }
    const init: RequestInit = { method, headers, ...(payload === undefined ? {} : { body: payload }) }
    const repeatable = SAFE.has(method) || idempotent || request.repeatable === true

    let tries = 0
    let polls = 0
    let pollsEndAt = 0
    for (;;) {
      let wait = FIRST_WAIT_MS * 2 ** tries * (0.5 + Math.random() / 2)
      try {
        const response = await attempt(url, init, { timeoutMs, silenceMs, signal })
        if (response.ok) return await read(response)
        const asked = retryAfter((name) => response.headers.get(name))
        const error = await errorOf(response)
        const { status, code, reason } = error
        const failure = { status, code, reason, asksToWait: asked !== null }
        if (!mayRepeat(failure, repeatable) || retries < 1) throw error
        const underWay = isUnderWay(failure)
        if (underWay) wait = Math.min(FIRST_WAIT_MS * 2 ** polls++, POLL_MS)
        if (asked !== null) wait = Math.max(wait, asked * 1000)
        if (wait > longestWaitMs) throw error
        pollsEndAt ||= Date.now() + timeoutMs
        if (underWay ? Date.now() + wait > pollsEndAt : tries++ >= retries) throw error
      } catch (error) {
        if (!(error instanceof ConnectionError) || !repeatable || tries++ >= retries) throw error
      }
      await pause(wait, signal)
    }
  }

  return {
    baseUrl,
    studioUrl,
    receive,
    send: (method, path, request) => receive(method, path, request, async (response) => response),
    json: <Answer>(method: string, path: string, request?: RequestOptions) =>
      receive(method, path, request, (response) => readJson(response) as Promise<Answer>),
  }
}

interface Limits {
  timeoutMs: number
  silenceMs: number
  signal: AbortSignal | undefined
}

/** Waits for `ms`. @throws the signal's reason */
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

/**
 * Creates a key that is unique among the caller's, but not secret. Node 18 and plain-http pages lack
 * `crypto.randomUUID`.
 */
const randomKey = (): string =>
  `${Date.now().toString(36)}-${Array.from({ length: 3 }, () => Math.random().toString(36).slice(2)).join('')}`
