import type { Database } from '../../core/data/database.ts'
import type { Origins } from '../../core/origins/origins.ts'

/** The number of id characters in a preview's name. It is not guessable, and every slug leaves room for it. */
const LENGTH = 10
/** The alphabet of ids, in lower case because host names are. */
const SHORT = /^[0-9a-hjkmnp-tv-z]{10}$/
const LONGEST_LABEL = 63

/** Returns the preview address of a deploy; null if games use ports instead of names, or the name is too long. */
export function previewUrl(origins: Pick<Origins, 'byPort' | 'game'>, slug: string, deployId: string): string | null {
  const label = `${slug}--${deployId.slice(-LENGTH).toLowerCase()}`
  return origins.byPort || label.length > LONGEST_LABEL ? null : origins.game(label)
}

/**
 * Resolves a preview's name to a deploy of a game. Only finalized deploys count: the bytes of others are not verified,
 * nor proved to be their owner's.
 */
export async function previewId(db: Database, gameId: string, short: string): Promise<string | null> {
  if (!SHORT.test(short)) return null
  const [row] = await db.query<{ id: string }>(
    "select id from deploys where game_id = ? and id like ? and state in ('live', 'superseded')",
    [gameId, `%${short.toUpperCase()}`],
  )
  return row?.id ?? null
}
