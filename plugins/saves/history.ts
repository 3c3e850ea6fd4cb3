/** The number of kept versions of a key, the current one included (contracts, section 13). */
export const KEPT_VERSIONS = 5
/** The time for which an earlier version is kept. */
export const KEPT_MS = 30 * 86_400_000

/** A version of a key. */
export interface HistoryEntry {
  version: number
  createdAt: number
}

/**
 * Returns the oldest version to keep. An earlier version counts its 30 days from the moment at which another value
 * replaced it, or the key was deleted.
 *
 * @param entries all versions of one key, newest first
 * @param endedAt the time at which the newest of them was replaced or deleted; null for a current one
 */
export function oldestKept(entries: readonly HistoryEntry[], endedAt: number | null, now: number): number {
  let replacedAt = endedAt
  let oldest = Number.POSITIVE_INFINITY
  for (const { version, createdAt } of entries.slice(0, KEPT_VERSIONS)) {
    if (replacedAt !== null && replacedAt + KEPT_MS <= now) break
    oldest = version
    replacedAt = createdAt
  }
  return oldest
}

/**
 * Returns the time at which the oldest earlier version becomes due for removal; null when there is none.
 *
 * @param entries as for `oldestKept`
 */
export function historyDueAt(entries: readonly HistoryEntry[], endedAt: number | null): number | null {
  const last = entries.length - 1
  const replacedAt = last > 0 ? (entries[last - 1]?.createdAt ?? null) : last === 0 ? endedAt : null
  return replacedAt === null ? null : replacedAt + KEPT_MS
}
