/** Everything that this package throws of its own. `instanceof` tells the kinds apart, and so does `code`. */
export class GameyardError extends Error {
  override name = 'GameyardError'
  /** As in the answer: `not_found`, `missing_scope`, `rate_limited` …; `network` and `timeout` when there was none. */
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** The platform could not be reached, or did not answer in time. */
export class ConnectionError extends GameyardError {
  override name = 'ConnectionError'
}

/** The platform answered that it can't be done. */
export class ApiError extends GameyardError {
  override name = 'ApiError'
  readonly status: number
  /** Names the request in the platform's log. */
  readonly requestId: string | null
  /** The problems, by field or by file. */
  readonly details: readonly { path: string; message: string }[]

  constructor(status: number, code: string, message: string, { requestId, details }: ErrorContext) {
    super(code, message)
    this.status = status
    this.requestId = requestId
    this.details = details
  }
}

/** 401: no token, or one that holds no longer. */
export class UnauthorizedError extends ApiError {
  override name = 'UnauthorizedError'
}

/** 403, because the token lacks a scope. */
export class MissingScopeError extends ApiError {
  override name = 'MissingScopeError'
  /** Such as `games:write`. */
  get scope(): string {
    return /missing the (\S+) scope/.exec(this.message)?.[1] ?? ''
  }
}

/** 404: not there, or not for this caller. */
export class NotFoundError extends ApiError {
  override name = 'NotFoundError'
}

/** 402. Nothing was charged. */
export class InsufficientCreditsError extends ApiError {
  override name = 'InsufficientCreditsError'
  readonly balance: number
  readonly required: number

  constructor(message: string, context: ErrorContext, { balance, required }: { balance: number; required: number }) {
    super(402, 'insufficient_credits', message, context)
    this.balance = balance
    this.required = required
  }
}

/** 429, and the wait was longer than retries are given: `rate_limited`, or what else there is too much of. */
export class RateLimitedError extends ApiError {
  override name = 'RateLimitedError'
  readonly retryAfterSeconds: number | null

  constructor(message: string, context: ErrorContext, retryAfterSeconds: number | null, code = 'rate_limited') {
    super(429, code, message, context)
    this.retryAfterSeconds = retryAfterSeconds
  }
}

interface ErrorContext {
  requestId: string | null
  details: readonly { path: string; message: string }[]
}

/** The error of an answer that is not 2xx. Bodies that are not ours, such as a proxy's, are told by their status. */
export async function errorOf(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => null)) as Body | null
  const named = typeof body?.error === 'object' ? body.error : undefined
  const code = named?.code ?? (typeof body?.error === 'string' ? body.error : `http_${response.status}`)
  const message = named?.message ?? body?.error_description ?? `The platform answered with ${response.status}.`
  const context = { requestId: response.headers.get('x-request-id'), details: named?.details ?? [] }
  if (code === 'insufficient_credits') {
    const { balance = 0, required = 0 } = body ?? {}
    return new InsufficientCreditsError(message, context, { balance, required })
  }
  if (response.status === 429) return new RateLimitedError(message, context, retryAfter(response.headers), named?.code)
  const Kind = code === 'missing_scope' ? MissingScopeError : KINDS[response.status]
  return new (Kind ?? ApiError)(response.status, code, message, context)
}

const KINDS: Record<number, typeof ApiError | undefined> = { 401: UnauthorizedError, 404: NotFoundError }

interface Body {
  error?: string | { message?: string; code?: string; details?: { path: string; message: string }[] }
  error_description?: string
  balance?: number
  required?: number
}

/** `Retry-After` in seconds from now: a number or a date (RFC 9110, 10.2.3). */
export function retryAfter(headers: Headers): number | null {
  const text = headers.get('retry-after')
  if (!text) return null
  if (/^\d+$/.test(text)) return Number(text)
  const date = Date.parse(text)
  return Number.isNaN(date) ? null : Math.max(0, (date - Date.now()) / 1000)
}
