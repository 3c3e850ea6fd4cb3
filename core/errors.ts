import createError from '@fastify/error'

/** One entry of `error.details`: the place of a fault in the request, and its description. */
export interface ErrorDetail {
  path: string
  message: string
}

/** Optional additions to a catalogued error. */
export interface ErrorExtras {
  details?: ErrorDetail[]
  /** Response headers, such as `Retry-After` or `WWW-Authenticate`. */
  headers?: Record<string, string>
  /** Top-level fields next to `error`, such as `balance` and `required` of a 402. */
  body?: Record<string, unknown>
  cause?: unknown
}

/** An error of the catalogue, whose message is safe to show to the caller. */
export interface PlatformError extends Error, ErrorExtras {
  code: string
  statusCode: number
  with(extras: ErrorExtras): this
}

/**
 * Adds an error to the catalogue. `%s` in the message takes the constructor's arguments.
 *
 * @param code snake_case, as the caller sees it
 * @param status HTTP status
 * @param headers response headers of each such error
 */
export function defineError(
  code: string,
  status: number,
  message: string,
  headers?: Record<string, string>,
): new (
  ...args: unknown[]
) => PlatformError {
  const Base = createError(code, message, status)
  class CataloguedError extends Base {
    override code = code // the library writes it in capitals
    details?: ErrorDetail[]
    headers: Record<string, string> | undefined = headers
    body?: Record<string, unknown>

    with(extras: ErrorExtras): this {
      return Object.assign(this, extras)
    }
  }
  return CataloguedError as never
}

/** Headers of an error that passes by itself within seconds, such as the outage of a service that restarts. */
export const RETRY_SOON = { 'retry-after': '5' }

/** Whether an error belongs to the catalogue and may be shown. */
export const isPlatformError = (error: unknown): error is PlatformError =>
  error instanceof Error && typeof (error as Partial<PlatformError>).with === 'function' && 'statusCode' in error

// The kernel's error codes. Each plugin defines its own in its errors.ts.
export const InvalidRequest = defineError('invalid_request', 400, '%s')
export const Unauthorized = defineError('unauthorized', 401, '%s')
export const MissingScope = defineError('missing_scope', 403, 'API token is missing the %s scope.')
export const Forbidden = defineError('forbidden', 403, '%s')
export const Prefetched = defineError('prefetch', 403, 'This address has an effect, so it is not fetched in advance.')
export const NotFound = defineError('not_found', 404, 'There is no such %s.')
export const MethodNotAllowed = defineError('method_not_allowed', 405, 'This address does not accept %s.')
export const Conflict = defineError('conflict', 409, '%s')
export const PayloadTooLarge = defineError('payload_too_large', 413, '%s')
export const UnsupportedMediaType = defineError('unsupported_media_type', 415, '%s')
export const MisdirectedRequest = defineError('misdirected_request', 421, 'This server has no site named %s.')
export const MovedAway = defineError('misdirected_request', 421, 'This platform is at %s now; send requests there.')
export const RateLimited = defineError('rate_limited', 429, 'Too many requests; try again in %s seconds.')
export const TooManyStreams = defineError(
  'too_many_streams',
  429,
  'You already have %s open event streams; close one of them first.',
)
export const Internal = defineError('internal', 500, 'The server made a mistake. The log has it under request %s.')
export const StorageFull = defineError('storage_full', 507, 'The server has no space left to store this.')

/** Returns the refusal of a token, which names all scopes that it is missing, with the challenge of RFC 6750 section 3. */
export const missingScopes = (missing: readonly string[]): PlatformError =>
  new MissingScope(missing.join(' scope and the ')).with({
    headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${missing.join(' ')}"` },
  })

/** Returns the refusal of one field. @param message a sentence for the person who filled it in */
export const invalidField = (path: string, message: string): PlatformError =>
  new InvalidRequest(message).with({ details: [{ path, message }] })

/** Writing is stopped for the last step of a move; see `DatabaseDriver.setReadOnly`. */
export class WritesStopped extends defineError(
  'writes_stopped',
  503,
  'The platform is being moved, and accepts no changes for a moment; try again.',
) {
  override headers = { 'retry-after': '5' }
}

/** Refuses the start. The message is one sentence with the cause and the fix, printed without a stack. */
export class StartupError extends Error {
  override name = 'StartupError'
}
