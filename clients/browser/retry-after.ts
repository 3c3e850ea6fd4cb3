/**
 * Returns `Retry-After`, a number or a date (RFC 9110, section 10.2.3), in seconds from the time of the response; null
 * without one. The SDK has the same: each package stands by itself.
 */
export function retryAfter({ headers }: Pick<Response, 'headers'>): number | null {
  const text = headers.get('retry-after')
  if (!text) return null
  // Some proxies send fractions.
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text)
  // The clock of this device may be wrong.
  const sentAt = Date.parse(headers.get('date') ?? '') || Date.now()
  const seconds = (Date.parse(text) - sentAt) / 1000
  return Number.isNaN(seconds) ? null : Math.max(0, seconds)
}
