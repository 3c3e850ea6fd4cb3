import { isUniqueViolation } from '../database.ts'
import { MoveError } from './errors.ts'
import type { PageList } from './page-list.ts'
import { canonicalRow, EMPTY, type Fingerprint, type Key, type Range, type Row, type Rows } from './rows.ts'

/** One table in both databases, and the pages of it that were copied. */
export interface TablePair {
  source: Rows
  target: Rows
  pages: PageList
  /** Called with the number of rows after each page. */
  progress: (rows: number) => void
}

/** The rows that differ between the two databases. */
interface Difference {
  removed: Key[]
  added: Row[]
}

/**
 * Copies all rows of a table, page by page in the order of the source's key, and reads each page back. A row that the
 * target has already, from an interrupted run, is compared, and copied again only if it differs.
 *
 * The source may change meanwhile. A page that contradicts rows copied earlier (a unique value has wandered from one
 * row to another) is left for `catchUp`.
 */
export async function copyTable(pair: TablePair): Promise<void> {
  const { target } = pair
  const empty = (await target.count()) === 0
  await copyRange(pair, { after: null, upTo: null }, { empty, frozen: false })
  if (!empty) await removeSurplus(pair)
}

/** Copies the pages of a range at the end of the list of pages. */
async function copyRange(
  pair: TablePair,
  range: Range,
  { empty, frozen }: { empty: boolean; frozen: boolean },
): Promise<number> {
  const { source, target, pages, progress } = pair
  let copied = 0
  for (let after = range.after; ; ) {
    const page = await source.page({ after, upTo: range.upTo })
    if (!page) return copied
    const { rows, upTo, fingerprint } = page
    const keys = rows.map((row) => source.keyOf(row))
    const kept = await writeRows(
      pair,
      empty ? { removed: [], added: rows } : await difference(pair, keys, rows),
      frozen,
    )
    pages.put(source.table, { upTo, fingerprint: kept ? fingerprint : null }, keys)
    if (kept) await verifyRows(target, rows)
    copied += rows.length
    progress(rows.length)
    after = upTo
  }
}

/**
 * Copies what changed in the source since the last call, and returns the number of changed pages.
 *
 * The fingerprint of every page is compared first. Of the pages that changed, the rows that differ are first all
 * deleted in the target and then inserted, so that unique values may have wandered between any rows.
 *
 * @param state.frozen whether nothing changes in the source during the call: afterwards both databases have the same rows
 * @param state.unchanged whether nobody has written to the source since the last call began: then no fingerprint is
 *   compared
 */
export async function catchUp(
  pair: TablePair,
  { frozen, unchanged = false }: { frozen: boolean; unchanged?: boolean },
): Promise<number> {
  const { source, target, pages } = pair
  const { table } = source
  const known = pages.of(table)
  const changed: number[] = []
  for (const [index, { upTo, fingerprint }] of known.entries()) {
    if (unchanged && fingerprint) continue
    const now = await source.fingerprint({ after: known[index - 1]?.upTo ?? null, upTo })
    if (now.count !== fingerprint?.count || now.digest !== fingerprint.digest) changed.push(index)
  }
  const rangeOf = (index: number): Range => ({
    after: known[index - 1]?.upTo ?? null,
    upTo: (known[index] as { upTo: Key }).upTo,
  })
  for (const index of changed) await removeChanged(pair, rangeOf(index), pages.keys(table, index))
  for (const index of changed) await insertChanged(pair, rangeOf(index), index, frozen)
  const added = await copyRange(pair, { after: known.at(-1)?.upTo ?? null, upTo: null }, { empty: false, frozen })
  if (frozen && (await target.count()) !== (await source.count())) {
    await removeSurplus(pair)
    await verifyCount(pair)
  }
  return changed.length + (added > 0 ? 1 : 0)
}

/** Whether the source still has what was copied. */
export async function isUnchanged({ source, pages }: TablePair): Promise<boolean> {
  const known = pages.of(source.table)
  for (const [index, { upTo, fingerprint }] of known.entries()) {
    const now = await source.fingerprint({ after: known[index - 1]?.upTo ?? null, upTo })
    if (fingerprint && (now.count !== fingerprint.count || now.digest !== fingerprint.digest)) return false
  }
  const { count } = await source.fingerprint({ after: known.at(-1)?.upTo ?? null, upTo: null })
  return count === 0
}

/** Deletes the rows of a changed page in the target that the source no longer has, or has otherwise. */
async function removeChanged(pair: TablePair, range: Range, before: Key[]): Promise<void> {
  const { source, target } = pair
  const stale = new Map(before.map((key) => [textOf(key), key]))
  for (let after = range.after; ; ) {
    const page = await source.page({ after, upTo: range.upTo })
    if (!page) break
    const keys = page.rows.map((row) => source.keyOf(row))
    for (const key of keys) stale.delete(textOf(key))
    const { removed } = await difference(pair, keys, page.rows)
    if (removed.length) await target.change(removed, [])
    after = page.upTo
  }
  if (stale.size) await target.change([...stale.values()], [])
}

/** Inserts the rows of a changed page that the target lacks, and notes the page as it is now. */
async function insertChanged(pair: TablePair, range: Range, index: number, frozen: boolean): Promise<void> {
  const { source, target, pages } = pair
  const all: Key[] = []
  const found: (Fingerprint | null)[] = []
  for (let after = range.after; ; ) {
    const page = await source.page({ after, upTo: range.upTo })
    if (!page) break
    const keys = page.rows.map((row) => source.keyOf(row))
    all.push(...keys)
    const kept = await writeRows(pair, await difference(pair, keys, page.rows), frozen)
    if (kept) await verifyRows(target, page.rows)
    found.push(kept ? page.fingerprint : null)
    after = page.upTo
  }
  // A page that has grown into several was not read at one moment; the next call reads it again.
  const fingerprint = found.length === 0 ? EMPTY : found.length === 1 ? (found[0] ?? null) : null
  pages.put(source.table, { upTo: range.upTo as Key, fingerprint }, all, index)
}

/** Compares rows of the source with those that the target has under the same keys. */
async function difference({ source, target }: TablePair, keys: Key[], rows: Row[]): Promise<Difference> {
  const { columns } = source.table
  const present = new Map<string, { key: Key; text: string }>()
  for (const row of await target.byKeys(keys)) {
    const key = target.keyOf(row)
    present.set(textOf(key), { key, text: canonicalRow(columns, row) })
  }
  const removed: Key[] = []
  const added: Row[] = []
  for (const [index, row] of rows.entries()) {
    const found = present.get(textOf(keys[index] as Key))
    if (found?.text === canonicalRow(columns, row)) continue
    if (found) removed.push(found.key)
    added.push(row)
  }
  return { removed, added }
}

/** @returns false when the rows contradict others, which they can only while the source changes */
async function writeRows({ target }: TablePair, { removed, added }: Difference, frozen: boolean): Promise<boolean> {
  if (removed.length === 0 && added.length === 0) return true
  try {
    await target.change(removed, added)
    return true
  } catch (error) {
    // Two rows contradict each other, as while one is being renamed to what the other was.
    if (frozen || !isUniqueViolation(error)) throw error
    return false
  }
}

/** Reads rows back from the target. @throws MoveError when one of them is not what the source has */
async function verifyRows(target: Rows, rows: Row[]): Promise<void> {
  const { columns, name } = target.table
  const keys = rows.map((row) => target.keyOf(row))
  const stored = new Map<string, string>()
  for (const row of await target.byKeys(keys)) stored.set(textOf(target.keyOf(row)), canonicalRow(columns, row))
  for (const [index, row] of rows.entries()) {
    const key = keys[index] as Key
    if (stored.get(textOf(key)) === canonicalRow(columns, row)) continue
    throw new MoveError(`The row ${key.map(String).join(', ')} of the table ${name} is not the same in the target.`)
  }
}

/** Deletes the rows of the target that the source does not have. */
async function removeSurplus({ source, target }: TablePair): Promise<void> {
  for (let after: Key | null = null; ; ) {
    const page = await target.page({ after, upTo: null })
    if (!page) return
    const keys = page.rows.map((row) => target.keyOf(row))
    const wanted = new Set((await source.byKeys(keys)).map((row) => textOf(source.keyOf(row))))
    const surplus = keys.filter((key) => !wanted.has(textOf(key)))
    if (surplus.length) await target.change(surplus, [])
    after = page.upTo
  }
}

async function verifyCount({ source, target }: TablePair): Promise<void> {
  const [before, after] = [await source.count(), await target.count()]
  if (before === after) return
  throw new MoveError(
    `The table ${source.table.name} has ${before} rows in the source and ${after} in the target: another process uses one of them; stop it, and run the same command again.`,
  )
}

/** A text that is the same for equal keys. */
const textOf = (key: Key): string => key.map((value) => `${String(value).length}:${String(value)}`).join('')
