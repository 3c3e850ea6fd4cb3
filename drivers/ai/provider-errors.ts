import { setTimeout as sleep } from 'node:timers/promises'
import { APICallError } from '@ai-sdk/provider'
import type { Clock } from '../../core/clock.ts'
import { isPlatformError } from '../../core/errors.ts'
import { ProviderError, type ProviderFault } from './interface.ts'

/** Maximum attempts of one call. A retry follows only when the provider refused before it generated anything. */
const ATTEMPTS = 3
/** A longer `Retry-After` of the provider is passed on to the caller instead. */
const LONGEST_REST_MS = 5000

export const isCatalogued = isPlatformError

/**
 * Calls a provider, and retries when it was too busy to begin or could not be reached.
 *
 * @throws ProviderError, or the signal's reason
 */
export async function withRetries<T>(
  { signal, clock }: { signal: AbortSignal; clock: Clock },
  call: () => PromiseLike<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call()
    } catch (error) {
      const restMs = attempt < ATTEMPTS && !signal.aborted ? restOf(error, attempt, clock) : null
      if (restMs === null) throw isCatalogued(error) ? error : faultOf(error, { signal, clock })
      await sleep(restMs, undefined, { signal }).catch(() => {
        throw signal.reason
      })
    }
  }
}

/** Returns the delay before the next attempt in ms; null when there is no further attempt. */
function restOf(error: unknown, attempt: number, clock: Clock): number | null {
  const status = statusOf(error)
  // With 429, 503 or 529 the provider has not begun; neither has it when the connection failed.
  if (faultNamedBy(error)) return null
  const untouched = status === 429 || status === 503 || status === 529 || UNCONNECTED.test(codeOf(error))
  if (!untouched) return null
  const seconds = retryAfterOf(error, clock)
  const restMs = seconds === undefined ? 200 * 2 ** attempt : seconds * 1000
  return restMs <= LONGEST_REST_MS ? restMs : null
}

/**
 * Translates an error of a call into the family's errors, without text of the provider's response or of our request.
 */
export function faultOf(error: unknown, { signal, clock }: { signal: AbortSignal; clock: Clock }): unknown {
  if (signal.aborted) return signal.reason
  const status = statusOf(error)
  if (status === undefined) return new ProviderError(codeOf(error) === '' ? 'invalid-answer' : 'unreachable')
  const details = { status }
  const named = faultNamedBy(error)
  if (named) return new ProviderError(named, details)
  if (status === 401 || status === 403) return new ProviderError('wrong-key', details)
  if (status === 402) return new ProviderError('no-money', details)
  if (status === 404) return new ProviderError('misconfigured', details)
  if (status === 429 || status === 503 || status === 529) {
    const seconds = retryAfterOf(error, clock)
    return new ProviderError('busy', {
      ...details,
      ...(seconds === undefined ? {} : { retryAfterSeconds: Math.ceil(seconds) }),
    })
  }
  if (status >= 500 || status === 408) return new ProviderError('failed', details)
  // A 2xx response whose body could not be parsed.
  return new ProviderError(status < 300 ? 'invalid-answer' : 'refused', details)
}

/** Codes in the body of an error, which say more than its status. */
const CODES: [ProviderFault, RegExp][] = [
  [
    'filtered',
    /"(content_filter|content_policy_violation|ResponsibleAIPolicyViolation|moderation_blocked|data_inspection_failed)"/i,
  ],
  ['wrong-key', /"(API_KEY_INVALID|invalid_api_key|authentication_error)"/],
  ['no-money', /"(insufficient_quota|insufficient_balance|billing_hard_limit_reached|billing_error)"/],
]

/** Returns the fault that the body of a 4xx response names by its code; such a fault is final, also with 429. */
function faultNamedBy(error: unknown): ProviderFault | undefined {
  const status = statusOf(error) ?? 0
  if (status < 400 || status >= 500 || !APICallError.isInstance(error)) return undefined
  const { responseBody = '' } = error
  return CODES.find(([, code]) => code.test(responseBody))?.[0]
}

/** Whether a model, or the server before it, takes no `response_format`, or not this schema in it. */
export function refusesFormat(error: unknown): boolean {
  const status = statusOf(error)
  if ((status !== 400 && status !== 422) || faultNamedBy(error) || !APICallError.isInstance(error)) return false
  return /response_?format|json_schema|json_object|structured.?output/i.test(error.responseBody ?? '')
}

const UNCONNECTED = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/

const statusOf = (error: unknown): number | undefined => (APICallError.isInstance(error) ? error.statusCode : undefined)

/** Returns the code of a system or fetch error, at any depth of causes; empty when there is none. */
function codeOf(error: unknown, depth = 0): string {
  if (!(error instanceof Error) || depth > 5) return ''
  const { code } = error as { code?: unknown }
  if (typeof code === 'string' && /^(E[A-Z]|UND_ERR)/.test(code)) return code
  const [first] = error instanceof AggregateError ? error.errors : [error.cause]
  return codeOf(first, depth + 1)
}

/**
 * Returns `Retry-After` in seconds (RFC 9110, section 10.2.3), at most a day. Some gateways send fractions. Undefined
 * without it.
 */
function retryAfterOf(error: unknown, clock: Clock): number | undefined {
  const header = APICallError.isInstance(error) ? error.responseHeaders?.['retry-after'] : undefined
  if (header === undefined) return undefined
  const seconds = /^\d+(\.\d+)?$/.test(header) ? Number(header) : (Date.parse(header) - clock.now().getTime()) / 1000
  return Number.isNaN(seconds) ? undefined : Math.max(0, Math.min(seconds, 86_400))
}
