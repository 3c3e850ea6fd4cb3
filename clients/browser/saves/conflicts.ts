import type { Outcome, Server, Theirs } from './server.ts'
import { type Entry, isSameChange, nextStep, type Pending, type Store, stampOf } from './store.ts'
import type { Conflict, SaveValue } from './types.ts'
import { decode, type Encoded, encode, isEqual } from './values.ts'

/** The server's time is known to a few seconds: a second of the header, and the way of the answer. */
const CLOCK_TOLERANCE_MS = 60_000

export interface ConflictRules {
  store: Store
  server: Server
  /** Decides by the game's listener; absent: the newer one wins. */
  ask: ((conflict: Conflict) => SaveValue | Promise<SaveValue>) | undefined
  /** The value of this device is another one now. */
  replaced(entry: Entry): void
}

/**
 * Resolves the conflict of a change with the version on the server. Nothing is sent here: the entry is changed so that
 * the next attempt keeps both values on the server, the chosen one last.
 */
export async function resolveConflict(rules: ConflictRules, entry: Entry & { pending: Pending }): Promise<void> {
  const { store, server, replaced } = rules
  const { account, key, value, pending } = entry
  const theirs = await server.get(account, key, null)
  const update = (change: (now: Entry) => Entry | null) =>
    store.change(async (changes) => {
      const now = await changes.get(account, key)
      if (!now?.pending) return false
      // The game may have set another value meanwhile, or another tab gone on. That is sent next, over what is there.
      const isSame = isSameChange(now.pending, pending)
      const next = isSame ? change(now) : over(now, theirs)
      if (next) changes.put(next)
      else changes.remove(now)
      return isSame
    })
  if (theirs === undefined || theirs === 'same') {
    await update((now) => ({ ...now, base: null }))
    return
  }
  const { version } = theirs
  // It may be our own change, whose answer was lost.
  if (value && isEqual(value, theirs)) {
    await update((now) => afterWrite(now, version))
    return
  }
  if (pending.former && isEqual(pending.former, theirs)) {
    await update((now) => ({ ...now, base: version }))
    return
  }
  const chosen = await choose(rules, entry, theirs)
  if (chosen === 'mine') {
    await update((now) => ({ ...now, base: version, pending: { ...pending, ...now.pending, isConflict: true } }))
    return
  }
  const step = nextStep(pending)
  const given = chosen === 'theirs' ? encodedOf(theirs) : chosen
  let result: Entry | null = null
  const change = chosen === 'theirs' ? stampOf({ base: version }) : `merged ${version} ${pending.sequence}.${step}`
  await update((now) => {
    // Another tab may have put its value behind this one.
    const next = [...(now.pending?.next ?? []), given]
    result =
      value === null
        ? { ...now, value: given, base: version, change, pending: chosen === 'theirs' ? null : { ...pending, step } }
        : { ...now, base: version, change, pending: { ...pending, isConflict: true, step, next } }
    return result
  })
  if (result) replaced(result)
}

/**
 * Notes that a change is on the server. The game may have set another value meanwhile.
 *
 * @returns whether no change of the save waits any longer
 */
export async function noteSent(
  store: Store,
  { account, key, pending }: Entry & { pending: Pending },
  outcome: Extract<Outcome, { kind: 'written' | 'gone' }>,
): Promise<boolean> {
  return store.change(async (changes) => {
    const now = await changes.get(account, key)
    if (!now) return true
    const isSame = isSameChange(now.pending, pending)
    const base = outcome.kind === 'written' ? outcome.version : null
    const next = !isSame ? { ...now, base } : base === null ? null : afterWrite(now, base)
    if (next) changes.put(next)
    else changes.remove(now)
    return !next?.pending
  })
}

/** Returns an entry whose value is on the server now. A value that follows becomes the next change. */
function afterWrite(entry: Entry, version: number): Entry {
  const { pending } = entry
  const [first, ...others] = pending?.next ?? []
  if (!pending || !first) return { ...entry, base: version, pending: null }
  return { ...entry, value: first, base: version, pending: { ...pending, step: nextStep(pending), next: others } }
}

async function choose(
  { server, ask }: ConflictRules,
  { key, value, pending }: Entry & { pending: Pending },
  theirs: Theirs,
): Promise<'mine' | 'theirs' | Encoded> {
  const said = pending.setAt + (pending.offset ?? server.offset ?? 0)
  const atMost = latestTime(pending, Date.now() + (server.offset ?? 0))
  // The clock of a device that was offline may have been wrong, also for a time only.
  const isWrong = said > atMost + CLOCK_TOLERANCE_MS
  const mineAt = isWrong ? atMost : said
  if (!ask) return !isWrong && mineAt >= theirs.updatedAt ? 'mine' : 'theirs'
  const latest = pending.next?.at(-1) ?? value ?? theirs
  const conflict = {
    key,
    mine: value ? decode(latest) : undefined,
    theirs: decode(theirs),
    mineAt,
    theirsAt: theirs.updatedAt,
  }
  const chosen = await ask(conflict)
  if (chosen === conflict.mine) return 'mine'
  if (chosen === conflict.theirs || chosen === undefined) return 'theirs'
  const encoded = await encode(chosen)
  if (value && isEqual(encoded, latest)) return 'mine'
  return isEqual(encoded, theirs) ? 'theirs' : encoded
}

/**
 * Returns the latest time at which a change can have been made. The page that made it knows how long ago that was at
 * least: its own clock stands still while the computer sleeps, but never runs ahead.
 *
 * @param now in ms since 1970 by the server's clock
 */
function latestTime({ onPage }: Pending, now: number): number {
  return onPage?.origin === performance.timeOrigin ? now - (performance.now() - onPage.at) : now
}

const encodedOf = ({ bytes, type }: Encoded): Encoded => ({ bytes, type })

/** Returns an entry that is to be sent over what is on the server, which may be its value already. */
function over(now: Entry, theirs: Theirs | undefined | 'same'): Entry {
  if (theirs === undefined || theirs === 'same') return { ...now, base: null }
  return now.value && isEqual(now.value, theirs) ? afterWrite(now, theirs.version) : { ...now, base: theirs.version }
}
