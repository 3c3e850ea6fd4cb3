import { type Changes, type Entry, type Pending, type Store, stampOf } from './store.ts'
import type { Conflict, SaveValue } from './types.ts'
import { decode, type Encoded, encode, isEqual } from './values.ts'

/** A change that the game has asked for. */
export interface Change {
  id: string
  key: string
  /** Null: the save is deleted. */
  value: Encoded | null
  /** The version that the value was made from, as the game has said; null: none; absent: the one that the device knows. */
  base?: number | null
  /** As in `Pending`. */
  setAt: number
  offset: number | null
  /** The stamp of the value that this page set or read last; absent: none. */
  seen: string | undefined
}

export interface WriteRules {
  store: Store
  /** Decides by the game's listener; absent: the newer one wins. */
  ask: ((conflict: Conflict) => SaveValue | Promise<SaveValue>) | undefined
  /** The number of the change whose answer has not come yet. */
  inFlight(): number | null
}

/** What the game wants in the end, and whether that is the value of the other tab. */
interface Choice {
  values: [Encoded | null, ...Encoded[]]
  theirs: string | null
}

/**
 * Writes a change into the store. The version that the page read counts: another tab's value that it has not read is a
 * conflict, and both are kept on the server.
 *
 * @returns the entry; null when another page has taken the change over
 */
export async function write(
  { store, ask, inFlight }: WriteRules,
  account: string,
  change: Change,
): Promise<Entry | null> {
  let choice: Choice = { values: [change.value], theirs: null }
  let { seen } = change
  for (let isConflict = false; ; isConflict = true) {
    const result = await store.change(async (changes): Promise<{ entry: Entry | null } | { conflict: Entry }> => {
      const now = await changes.get(account, change.key)
      const isUnread = change.base === undefined && isOtherValue(now, change, seen)
      if (isUnread && ask) return { conflict: now }
      if (!(await changes.isNew(change.id))) return { entry: null }
      const entry =
        now?.pending && now.value && (isUnread || isConflict)
          ? behind(now, change, choice)
          : now && hasFollowing(now) && change.value && change.base === undefined
            ? behind(withoutLast(now), change, choice)
            : await next(changes, {
                account,
                now,
                change,
                choice,
                isConflict: isUnread || isConflict,
                inFlight: inFlight(),
              })
      changes.put(entry)
      return { entry }
    })
    if ('entry' in result) return result.entry
    choice = await choose(ask as NonNullable<typeof ask>, change, result.conflict)
    seen = stampOf(result.conflict)
  }
}

/** Whether another tab has given a save a value that this page has not read. A deletion is restored by the player. */
const isOtherValue = (now: Entry | undefined, { value }: Change, seen: string | undefined): now is Entry =>
  seen !== undefined && value !== null && now !== undefined && now.value !== null && stampOf(now) !== seen

/** Whether an entry holds the value of another tab or device too. The last one only is what the game saves now. */
const hasFollowing = ({ pending }: Entry): boolean => (pending?.next?.length ?? 0) > 0

function withoutLast(entry: Entry): Entry {
  const pending = entry.pending as Pending
  return { ...entry, pending: { ...pending, next: pending.next?.slice(0, -1) ?? [] } }
}

/** Lets values follow those that wait already. */
export function behind(now: Entry, { id, setAt }: Pick<Change, 'id' | 'setAt'>, { values, theirs }: Choice): Entry {
  const pending = now.pending as Pending
  const following = values.filter((value) => value !== null)
  return {
    ...now,
    setAt,
    change: theirs ?? id,
    pending: { ...pending, isConflict: true, next: [...(pending.next ?? []), ...following] },
  }
}

async function next(
  changes: Changes,
  {
    account,
    now,
    change,
    choice,
    isConflict,
    inFlight,
  }: {
    account: string
    now: Entry | undefined
    change: Change
    choice: Choice
    isConflict: boolean
    inFlight: number | null
  },
): Promise<Entry> {
  const { id, key, setAt, offset } = change
  const [value, ...following] = choice.values
  const base = change.base === undefined ? (now?.base ?? null) : change.base
  const former = now?.pending && now.pending.sequence === inFlight ? now.value : now?.pending?.former
  const pending = {
    sequence: await changes.sequence(),
    setAt,
    offset,
    onPage: { origin: performance.timeOrigin, at: performance.now() },
    ...(former ? { former } : {}),
    ...(isConflict ? { isConflict } : {}),
    ...(following.length > 0 ? { next: following } : {}),
  }
  return { account, key, value, base, setAt, change: choice.theirs ?? id, pending }
}

async function choose(ask: NonNullable<WriteRules['ask']>, change: Change, now: Entry): Promise<Choice> {
  const mine = change.value as Encoded
  const theirs = now.pending?.next?.at(-1) ?? (now.value as Encoded)
  const offset = change.offset ?? 0
  const times = { mineAt: change.setAt + offset, theirsAt: (now.setAt ?? change.setAt) + offset }
  const conflict = { key: change.key, mine: decode(mine), theirs: decode(theirs), ...times }
  const both: Choice = { values: [mine, theirs], theirs: stampOf(now) }
  try {
    const chosen = await ask(conflict)
    if (chosen === conflict.mine) return { values: [mine], theirs: null }
    if (chosen === conflict.theirs || chosen === undefined) return both
    const encoded = await encode(chosen)
    if (isEqual(encoded, theirs)) return both
    return { values: isEqual(encoded, mine) ? [mine] : [mine, encoded], theirs: null }
  } catch (error) {
    // An error of the game's own listener must not lose the save.
    globalThis.reportError?.(error)
    return { values: [mine], theirs: null }
  }
}
