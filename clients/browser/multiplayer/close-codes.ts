/** Close codes that prevent a reconnection, with the reason of `left`. */
const FINAL: Record<number, string> = {
  1002: 'closed',
  1003: 'closed',
  1007: 'closed',
  1008: 'closed',
  1009: 'too_large',
  4001: 'kicked',
  4002: 'replaced',
  4010: 'room_failed',
  4011: 'suspended',
  4012: 'replaced',
}
/** Reasons that the server gives with 1008. */
const POLICY = ['rate_limited', 'signed_out', 'gone', 'closed']

/** Returns the reason of `left` for a closed socket, or null when the room reconnects. */
export function endingOf(code: number, reason: string): string | null {
  if (code === 1008 && POLICY.includes(reason)) return reason
  return FINAL[code] ?? null
}

/** Returns the reason of `left` for a refused reconnection. */
export function endingOfRefusal(code: string): string {
  if (code === 'auth_required') return 'signed_out'
  return code === 'not_found' ? 'gone' : code
}
