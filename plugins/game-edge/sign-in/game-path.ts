import { returnPath } from '../../../core/origins/return-path.ts'

/** The path waits for the way back in a cookie, for which browsers have 4 KB. */
const LONGEST = 2048

/**
 * Returns the path of a game to go back to after signing in or out: the wanted one if it is on the game's origin and
 * begins no further sign-in, otherwise `/`.
 */
export function gamePath(wanted: unknown, origin: string): string {
  const path = returnPath(wanted, origin)
  return path.length > LONGEST || path.startsWith('/auth/service') ? '/' : path
}
