/** What a response says about its failure. */
export interface Failure {
  status: number
  /** `error.code` */
  code: string
  /** `reason` of a failed generation; null without one. */
  reason: string | null
  /** Whether the response has `Retry-After`. */
  asksToWait: boolean
}

/** The reasons of `upstream_error` that may pass. The others fail again, at the host's expense. */
const PASSING_REASONS: readonly string[] = ['unavailable', 'busy']

/**
 * Returns whether the same request may succeed later. SDK and CLI both follow this table.
 *
 * @param repeatable whether the request may be carried out twice; what was refused with 429 was not carried out
 */
export function mayRepeat(failure: Failure, repeatable: boolean): boolean {
  const { status, code, reason } = failure
  if (reason && !PASSING_REASONS.includes(reason)) return false
  if (status === 429 || isUnderWay(failure)) return true
  // What is not configured, and a full disk, need their host.
  return repeatable && status >= 500 && status !== 507 && !code.endsWith('_not_configured')
}

/**
 * Returns whether the same work is still under way, as for the first request with an Idempotency-Key. Its end is waited
 * for, and these attempts are not counted.
 */
export const isUnderWay = ({ status, asksToWait }: Pick<Failure, 'status' | 'asksToWait'>): boolean =>
  status === 409 && asksToWait

/**
 * Returns `Retry-After`, a number or a date (RFC 9110, section 10.2.3), in seconds from the time of the response; null
 * without one.
 */
export function retryAfter(header: (name: string) => string | null | undefined): number | null {
  const text = header('retry-after')
  if (!text) return null
  // Some proxies send fractions.
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text)
  // The clock of this device may be wrong.
  const sentAt = Date.parse(header('date') ?? '') || Date.now()
  const seconds = (Date.parse(text) - sentAt) / 1000
  return Number.isNaN(seconds) ? null : Math.max(0, seconds)
}
