import { type Entry, nextStep, type Store } from './store.ts'

/**
 * Gives the saves that were made signed out to the account of the player. Each becomes a change that expects no save on
 * the server, so one that is there is a conflict, of which both values are kept.
 *
 * @returns the keys
 */
export async function adopt(store: Store, account: string): Promise<string[]> {
  const kept = await store.all('')
  if (kept.length === 0) return []
  return store.change(async (changes) => {
    const keys: string[] = []
    for (const { key } of kept) {
      const mine = await changes.get('', key)
      if (!mine) continue
      changes.remove(mine)
      if (!mine.value || !mine.pending) continue
      const theirs = await changes.get(account, key)
      changes.put(merged(mine, theirs, { account, sequence: await changes.sequence() }))
      keys.push(key)
    }
    return keys
  })
}

/** Of a change of the account that waits on this device too, the later one comes last. */
function merged(
  mine: Entry,
  theirs: Entry | undefined,
  { account, sequence }: { account: string; sequence: number },
): Entry {
  const { key, value } = mine
  const pending = { ...(mine.pending as NonNullable<Entry['pending']>), sequence }
  if (!theirs?.pending) return { account, key, value, base: null, pending }
  if (!theirs.value || !value) return { ...theirs, value: theirs.value ?? value, pending }
  if (pending.setAt >= theirs.pending.setAt) {
    return { ...theirs, pending: { ...pending, next: [...(theirs.pending.next ?? []), value] } }
  }
  const next = [theirs.value, ...(theirs.pending.next ?? [])]
  return { ...theirs, value, pending: { ...theirs.pending, step: nextStep(theirs.pending), next } }
}

/** Removes the copies of other accounts' saves from this device. Their changes that wait stay. */
export async function removeCopies(store: Store, former: string): Promise<void> {
  const kept = await store.all(former)
  await store.change(async (changes) => {
    for (const { account, key } of kept) {
      const entry = await changes.get(account, key)
      if (entry && !entry.pending) changes.remove(entry)
    }
  })
}
