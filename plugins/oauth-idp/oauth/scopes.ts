/** The scopes that a player can grant, with the texts of the consent page. */
export const SCOPES: Record<string, { title: string; description: string }> = {
  openid: { title: 'Your identity', description: 'A player id that stays the same.' },
  profile: { title: 'Your name and picture', description: 'Other players see them too.' },
  email: { title: 'Your email address', description: 'It could write to you.' },
  offline_access: { title: 'Access while you are away', description: 'Until you disconnect it.' },
  saves: { title: 'Your saves in this game', description: 'It could read and write them.' },
  'ai:generate': { title: 'Your credits, to spend', description: 'On AI generation.' },
}

/**
 * The scopes that hosted games get without a question: data that every other player sees, and the saves of the player
 * in the game itself.
 */
export const BASIC_SCOPES: ReadonlySet<string> = new Set(['openid', 'profile', 'saves'])

/**
 * Parses the scopes of a request (RFC 6749 section 3.3), each once. Those that don't exist here are left out: libraries
 * ask for what other providers have, and the answer says what was granted. A request without scopes means `profile`.
 */
export function readScope(scope: string | undefined): string[] {
  const scopes = [...new Set((scope ?? '').split(' '))].filter((name) => Object.hasOwn(SCOPES, name))
  return scopes.length > 0 ? scopes : ['profile']
}
