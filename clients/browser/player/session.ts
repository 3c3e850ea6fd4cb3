/** The session of the game, as in the answer of `/auth/service/session`. */
export interface Session {
  signedIn: boolean
  user?: { id: string; name: string; imageUrl: string | null }
  scope?: string
  /** ISO 8601. */
  expiresAt?: string
}

/** Null when it can't be known now. */
export async function readSession(url = '/auth/service/session'): Promise<Session | null> {
  try {
    const response = await fetch(url, { headers: { accept: 'application/json' }, cache: 'no-store' })
    return response.ok ? ((await response.json()) as Session) : null
  } catch {
    return null
  }
}

/** Where a sign-in begins that ends on this very page. */
export const startUrl = (): string =>
  `/auth/service/start?returnTo=${encodeURIComponent(location.pathname + location.search + location.hash)}`
