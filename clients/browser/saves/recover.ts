import type { Journal, JournalEntry } from './journal.ts'
import { type Changes, type Entry, nextStep, type Store } from './store.ts'
import { behind } from './write.ts'

/**
 * Takes over what pages have saved while they were closed.
 *
 * @param account the player now, for what was saved before it was known who plays
 */
export async function recover(store: Store, journal: Journal, account: string): Promise<void> {
  const all = journal.left()
  // Of several changes of a save by one page, the last one counts.
  const last = new Map(all.map((left) => [`${left.id.split('.')[0]}/${left.account}/${left.key}`, left]))
  for (const left of last.values()) {
    await store.change(async (changes) => {
      if (await changes.isNew(left.id)) await take(changes, { ...left, account: left.account ?? account })
    })
  }
  for (const { id } of all) journal.remove(id)
}

async function take(changes: Changes, left: JournalEntry & { account: string }): Promise<void> {
  const { account, key, value, setAt, offset, id: change } = left
  const now = await changes.get(account, key)
  const pending = { sequence: await changes.sequence(), setAt, offset }
  const isOlder = now !== undefined && (now.pending?.setAt ?? now.setAt ?? 0) > setAt
  if (isOlder && now.pending) {
    // Another page has gone on. Its value comes last, and this one is kept on the server too.
    if (value && now.value) changes.put(before(now, value, now.pending))
    return
  }
  if (now?.pending && now.value && value && left.base === undefined) {
    changes.put(behind(now, left, { values: [value], theirs: null }))
    return
  }
  // One that is older than what is on the server is a conflict, which both values survive.
  const base = isOlder ? null : left.base !== undefined ? left.base : (now?.base ?? null)
  changes.put({ account, key, value, base, pending, change, setAt: Math.max(setAt, now?.setAt ?? 0) })
}

/** Puts a value before those that wait. */
const before = (entry: Entry, value: Entry['value'], pending: NonNullable<Entry['pending']>): Entry => ({
  ...entry,
  value,
  pending: {
    ...pending,
    step: nextStep(pending),
    next: [...(entry.value ? [entry.value] : []), ...(pending.next ?? [])],
  },
})
