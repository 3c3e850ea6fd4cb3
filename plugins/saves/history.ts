/** The number of versions of a key that are kept, the current one included. */
export const KEPT_VERSIONS = 5
/** The number of versions of a key that are kept because a change that was not made from them has replaced them. */
export const KEPT_UNREAD = 5
/** The time for which an earlier version is kept; of the older ones the last of each day (UTC). */
export const KEPT_MS = 30 * 86_400_000

const DAY_MS = 86_400_000

/** A version of a key. */
export interface HistoryEntry {
  version: number
  createdAt: number
  /** 1 when a change that was not made from this version has replaced it. */
  unread?: number
}

/**
 * Returns the versions to keep, newest first: the last five, the last one of each day, and the last five that lost a
 * conflict, which the saves of a few seconds would push out otherwise. An earlier version counts its 30 days from the
 * moment at which another value replaced it, or the key was deleted.
 *
 * @param entries all versions of one key, newest first
 * @param endedAt the time at which the newest of them was replaced or deleted; null for a current one
 */
export function keptOf<Entry extends HistoryEntry>(
  entries: readonly Entry[],
  endedAt: number | null,
  now: number,
): Entry[] {
  let lost = 0
  return entries.filter(({ createdAt, unread }, index) => {
    const next = entries[index - 1]
    const replacedAt = next?.createdAt ?? endedAt
    if (replacedAt === null) return true
    if (replacedAt + KEPT_MS <= now) return false
    if (unread && lost++ < KEPT_UNREAD) return true
    return index < KEPT_VERSIONS || next === undefined || dayOf(next.createdAt) !== dayOf(createdAt)
  })
}

const dayOf = (at: number): number => Math.floor(at / DAY_MS)

/**
 * Returns the time at which the oldest earlier version becomes due for removal; null when there is none.
 *
 * @param entries as for `keptOf`, those that are kept
 */
export function historyDueAt(entries: readonly HistoryEntry[], endedAt: number | null): number | null {
  const last = entries.length - 1
  const replacedAt = last > 0 ? (entries[last - 1]?.createdAt ?? null) : last === 0 ? endedAt : null
  return replacedAt === null ? null : replacedAt + KEPT_MS
}
