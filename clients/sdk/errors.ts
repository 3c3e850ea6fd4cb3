import { retryAfter } from './retryable.ts'

/** The base class of all errors of this package. `instanceof` and `code` distinguish them. */
export class GameyardError extends Error {
  override name = 'GameyardError'
  /**
   * The code of the response: `not_found`, `missing_scope`, `rate_limited` …; without a whole response `network` or
   * `timeout`; `unexpected_answer` when something else than a platform answers.
   */
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** Thrown when the platform was unreachable, did not respond in time, or its response was cut. */
export class ConnectionError extends GameyardError {
  override name = 'ConnectionError'
}

/** Thrown when the platform responded with an error. */
export class ApiError extends GameyardError {
  override name = 'ApiError'
  readonly status: number
  /** Why a generation failed, such as `refused`, `cut` or `busy`; null for other errors. */
  readonly reason: string | null
  /** The id of the request in the platform's log. */
  readonly requestId: string | null
  /** The problems per field or per file. */
  readonly details: readonly { path: string; message: string }[]

  constructor(status: number, code: string, message: string, { reason, requestId, details }: ErrorContext) {
    super(code, message)
    this.status = status
    this.reason = reason
    this.requestId = requestId
    this.details = details
  }
}

/** A 401 response: the token is missing or no longer valid. */
export class UnauthorizedError extends ApiError {
  override name = 'UnauthorizedError'
}

/** A 403 response: the token lacks a scope. */
export class MissingScopeError extends ApiError {
  override name = 'MissingScopeError'
  /** The missing scope, such as `games:write`. */
  get scope(): string {
    return /missing the (\S+) scope/.exec(this.message)?.[1] ?? ''
  }
}

/** A 404 response: the object does not exist or the caller may not see it. */
export class NotFoundError extends ApiError {
  override name = 'NotFoundError'
}

/** A 402 response. Nothing was charged. */
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

/** A 429 response whose delay exceeds the retry limit: `rate_limited`, or the code of another exceeded limit. */
export class RateLimitedError extends ApiError {
  override name = 'RateLimitedError'
  readonly retryAfterSeconds: number | null

  constructor(message: string, context: ErrorContext, retryAfterSeconds: number | null, code = 'rate_limited') {
    super(429, code, message, context)
    this.retryAfterSeconds = retryAfterSeconds
  }
}

interface ErrorContext {
  reason: string | null
  requestId: string | null
  details: readonly { path: string; message: string }[]
}

/**
 * Creates the error for a response other than 2xx. A body in another format, such as a proxy's, is described by its
 * status.
 */
export async function errorOf(response: Response): Promise<ApiError> {
  return errorIn((await response.json().catch(() => null)) as ErrorBody | null, response)
}

/** Creates the error that a body describes. */
export function errorIn(body: ErrorBody | null, response: Pick<Response, 'status' | 'headers'>): ApiError {
  const named = typeof body?.error === 'object' ? body.error : undefined
  const code = named?.code ?? (typeof body?.error === 'string' ? body.error : `http_${response.status}`)
  const message = named?.message ?? body?.error_description ?? `The platform answered with ${response.status}.`
  const context = {
    reason: body?.reason ?? null,
    requestId: response.headers.get('x-request-id'),
    details: named?.details ?? [],
  }
  if (code === 'insufficient_credits') {
    const { balance = 0, required = 0 } = body ?? {}
    return new InsufficientCreditsError(message, context, { balance, required })
  }
  if (response.status === 429)
    return new RateLimitedError(
      message,
      context,
      retryAfter((name) => response.headers.get(name)),
      named?.code,
    )
  const Kind = code === 'missing_scope' ? MissingScopeError : KINDS[response.status]
  return new (Kind ?? ApiError)(response.status, code, message, context)
}

const KINDS: Record<number, typeof ApiError | undefined> = { 401: UnauthorizedError, 404: NotFoundError }

export interface ErrorBody {
  error?: string | { message?: string; code?: string; details?: { path: string; message: string }[] }
  error_description?: string
  reason?: string
  balance?: number
  required?: number
}
