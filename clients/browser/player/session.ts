/** The game's session, as `/auth/service/session` returns it. */
export interface Session {
  signedIn: boolean
  user?: { id: string; name: string; imageUrl: string | null }
  scope?: string
  /** The expiry time in ISO 8601. */
  expiresAt?: string
}

const TIMEOUT_MS = 10_000

/** Reads the session. Resolves with null when it is temporarily unavailable. */
export async function readSession(url = '/auth/service/session'): Promise<Session | null> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const response = await fetch(url, { headers: { accept: 'application/json' }, cache: 'no-store', signal })
    return response.ok ? ((await response.json()) as Session) : null
  } catch {
    return null
  }
}

/**
 * Returns the address of a sign-in that returns to the current page.
 *
 * @param path below which the game is at its origin, such as `/pong`
 */
export const startUrl = (path = ''): string =>
  `${path}/auth/service/start?returnTo=${encodeURIComponent(location.pathname + location.search + location.hash)}`
