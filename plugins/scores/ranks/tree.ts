import type { Parameter, Statements } from '../../../core/data/database.ts'
import { inChunks } from './chunks.ts'
import { GROUP, LEAF, type Ranking } from './ranks.ts'

/** The smallest sort key. The first node of each level begins here. */
const FIRST = Number.MIN_SAFE_INTEGER
/** Greater than every sort key. */
const END = Number.MAX_SAFE_INTEGER + 1

/** When nodes are divided: a leaf by its number of entries, a group by its number of leaves. */
export interface NodeSizes {
  leaf: number
  group: number
}

const SIZES: NodeSizes = { leaf: 512, group: 128 }
/** A node below this part of the size is merged with a neighbour, if both together are below the other part. */
const LEAST = 1 / 8
const MERGED = 3 / 4

interface Node {
  low: number
  entries: number
}

/**
 * Counts the entries of a ranking by ranges of their sort keys, so that a rank needs a few hundred rows instead of those
 * of all better entries. The rows form a counted tree of two levels over the index of the entries: a leaf counts the
 * entries from its `low` up to the next leaf's, and a group counts those of a sequence of leaves. Every group begins
 * with a leaf of the same `low`. A million entries have about 3,000 leaves in 40 groups.
 *
 * Equal keys are in one leaf, however many there are. A leaf of a single key is never divided, and no rank needs to
 * count within it.
 *
 * Used in a transaction that holds the lock of the board.
 */
export class RankTree {
  readonly #statements: Statements
  readonly #ranking: readonly [board: string, period: number]
  readonly #sizes: NodeSizes

  constructor(statements: Statements, { board, period }: Ranking, sizes: NodeSizes = SIZES) {
    this.#statements = statements
    this.#ranking = [board, period]
    this.#sizes = sizes
  }

  /**
   * Follows a change of the entries, which are written already.
   *
   * @param changes by how much the number of entries with a key changed
   */
  async update(changes: ReadonlyMap<number, number>): Promise<void> {
    const keys = [...changes].filter(([, change]) => change !== 0).map(([key]) => key)
    if (keys.length === 0) return
    const leaves = new Map<number, number>()
    const groups = new Map<number, number>()
    for (const { key, leaf, grp } of await this.#locate(keys)) {
      const change = changes.get(key) ?? 0
      leaves.set(leaf, (leaves.get(leaf) ?? 0) + change)
      groups.set(grp, (groups.get(grp) ?? 0) + change)
    }
    await this.#add(GROUP, groups)
    for (const { low, entries } of await this.#add(LEAF, leaves)) {
      if (entries > this.#sizes.leaf) await this.#divide({ low, entries })
      else if (entries < this.#sizes.leaf * LEAST && (leaves.get(low) ?? 0) < 0) await this.#merge(low)
    }
  }

  async #locate(keys: number[]): Promise<{ key: number; leaf: number; grp: number }[]> {
    const found: { key: number; leaf: number; grp: number }[] = []
    const lowOf = (level: number) =>
      `(select max(n.low) from score_nodes n
        where n.board = ? and n.period = ? and n.level = ${level} and n.low <= c.column1)`
    for (const part of inChunks(keys)) {
      const rows = await this.#statements.query<{ key: number; leaf: number | null; grp: number | null }>(
        `select c.column1 as key, ${lowOf(LEAF)} as leaf, ${lowOf(GROUP)} as grp
         from (values ${part.map(() => '(cast(? as bigint))').join(', ')}) c`,
        [...this.#ranking, ...this.#ranking, ...part],
      )
      for (const { key, leaf, grp } of rows)
        found.push({ key: Number(key), leaf: Number(leaf ?? FIRST), grp: Number(grp ?? FIRST) })
    }
    return found
  }

  /** Adds to the numbers of entries of nodes, and makes nodes that do not exist. @returns the nodes as they are then */
  async #add(level: number, changes: ReadonlyMap<number, number>): Promise<Node[]> {
    const nodes: Node[] = []
    for (const part of inChunks([...changes].filter(([, change]) => change !== 0))) {
      const rows = await this.#statements.query<Node>(
        `insert into score_nodes (board, period, level, low, entries)
         values ${part.map(() => '(?, ?, ?, ?, ?)').join(', ')}
         on conflict (board, period, level, low) do update set entries = score_nodes.entries + excluded.entries
         returning low, entries`,
        part.flatMap(([low, change]): Parameter[] => [...this.#ranking, level, low, change]),
      )
      nodes.push(...rows.map(toNode))
    }
    return nodes
  }

  async #insert(level: number, { low, entries }: Node): Promise<void> {
    await this.#statements.execute(
      'insert into score_nodes (board, period, level, low, entries) values (?, ?, ?, ?, ?)',
      [...this.#ranking, level, low, entries],
    )
  }

  /** Divides a leaf at its middle key until each part is small enough or has a range of one key. */
  async #divide(leaf: Node): Promise<void> {
    const parts = [leaf]
    for (let part = parts.pop(); part; part = parts.pop()) {
      const { low, entries } = part
      const end = await this.#nextLow(LEAF, low)
      if (entries <= this.#sizes.leaf || end - low === 1) continue
      const range = [...this.#ranking, low, end] as const
      const [middle] = await this.#statements.query<{ key: number }>(
        `select sort_key as key from score_entries where board = ? and period = ? and sort_key >= ? and sort_key < ?
         order by sort_key limit 1 offset ?`,
        [...range, Math.floor(entries / 2)],
      )
      // Where half of the entries have the lowest key, that key gets a leaf of its own.
      const at = Math.max(Number(middle?.key ?? low), low + 1)
      const [upper] = await this.#statements.query<{ entries: number }>(
        `select count(*) as entries from score_entries where board = ? and period = ? and sort_key >= ? and sort_key < ?`,
        [...this.#ranking, at, end],
      )
      const moved = Number(upper?.entries ?? 0)
      await this.#add(LEAF, new Map([[low, -moved]]))
      await this.#insert(LEAF, { low: at, entries: moved })
      await this.#divideGroup(low)
      parts.push({ low, entries: entries - moved }, { low: at, entries: moved })
    }
  }

  async #divideGroup(leaf: number): Promise<void> {
    const group = await this.#groupOf(leaf)
    if (group.leaves <= this.#sizes.group) return
    const [middle] = await this.#statements.query<{ low: number }>(
      `select low from score_nodes where board = ? and period = ? and level = ${LEAF} and low >= ? and low < ?
       order by low limit 1 offset ?`,
      [...this.#ranking, group.low, group.end, Math.floor(group.leaves / 2)],
    )
    const at = Number(middle?.low)
    const [upper] = await this.#statements.query<{ entries: number }>(
      `select sum(entries) as entries from score_nodes
       where board = ? and period = ? and level = ${LEAF} and low >= ? and low < ?`,
      [...this.#ranking, at, group.end],
    )
    const moved = Number(upper?.entries ?? 0)
    await this.#add(GROUP, new Map([[group.low, -moved]]))
    await this.#insert(GROUP, { low: at, entries: moved })
  }

  /** Merges a small leaf with a neighbour of its group, so that removed entries leave no empty leaves behind. */
  async #merge(low: number): Promise<void> {
    const leaf = await this.#nodeAt(LEAF, low)
    if (!leaf) return // a neighbour has absorbed it already
    const group = await this.#groupOf(low)
    const before = low === group.low ? null : await this.#nodeBefore(LEAF, low)
    const end = await this.#nextLow(LEAF, low)
    const after = end < group.end ? await this.#nodeAt(LEAF, end) : null
    const most = this.#sizes.leaf * MERGED
    if (before && before.entries + leaf.entries <= most) await this.#absorb(LEAF, before.low, leaf)
    else if (after && after.entries + leaf.entries <= most) await this.#absorb(LEAF, low, after)
    else return
    if (group.leaves - 1 < this.#sizes.group * LEAST) await this.#mergeGroup(group.low)
  }

  async #mergeGroup(low: number): Promise<void> {
    const group = await this.#groupOf(low)
    const before = low === FIRST ? null : await this.#nodeBefore(GROUP, low)
    const [first, second] = before ? [before.low, low] : [low, group.end]
    const absorbed = second === END ? null : await this.#nodeAt(GROUP, second)
    if (!absorbed) return
    const other = await this.#groupOf(before ? first : second)
    if (group.leaves + other.leaves <= this.#sizes.group * MERGED) await this.#absorb(GROUP, first, absorbed)
  }

  /** Deletes a node and adds its entries to the node before it, whose range then includes its own. */
  async #absorb(level: number, into: number, { low, entries }: Node): Promise<void> {
    await this.#statements.execute('delete from score_nodes where board = ? and period = ? and level = ? and low = ?', [
      ...this.#ranking,
      level,
      low,
    ])
    await this.#add(level, new Map([[into, entries]]))
  }

  async #groupOf(leaf: number): Promise<{ low: number; end: number; leaves: number }> {
    const [row] = await this.#statements.query<{ low: number }>(
      `select max(low) as low from score_nodes where board = ? and period = ? and level = ${GROUP} and low <= ?`,
      [...this.#ranking, leaf],
    )
    const low = Number(row?.low)
    const end = await this.#nextLow(GROUP, low)
    const [count] = await this.#statements.query<{ leaves: number }>(
      `select count(*) as leaves from score_nodes
       where board = ? and period = ? and level = ${LEAF} and low >= ? and low < ?`,
      [...this.#ranking, low, end],
    )
    return { low, end, leaves: Number(count?.leaves ?? 0) }
  }

  async #nextLow(level: number, low: number): Promise<number> {
    const [row] = await this.#statements.query<{ low: number | null }>(
      'select min(low) as low from score_nodes where board = ? and period = ? and level = ? and low > ?',
      [...this.#ranking, level, low],
    )
    return row?.low == null ? END : Number(row.low)
  }

  async #nodeAt(level: number, low: number): Promise<Node | null> {
    const [row] = await this.#statements.query<Node>(
      'select low, entries from score_nodes where board = ? and period = ? and level = ? and low = ?',
      [...this.#ranking, level, low],
    )
    return row ? toNode(row) : null
  }

  async #nodeBefore(level: number, low: number): Promise<Node | null> {
    const [row] = await this.#statements.query<Node>(
      `select low, entries from score_nodes where board = ? and period = ? and level = ? and low < ?
       order by low desc limit 1`,
      [...this.#ranking, level, low],
    )
    return row ? toNode(row) : null
  }
}

// An entity manager returns 64-bit numbers of PostgreSQL as text.
const toNode = ({ low, entries }: Node): Node => ({ low: Number(low), entries: Number(entries) })
