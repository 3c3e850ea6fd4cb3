// Tests the counted tree against a sorted array: any changes, many ties, the ends of the range, nodes of every size.
import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { Database } from '../../../core/data/database.ts'
import { GROUP, LEAF, ranksOf } from '../../../plugins/scores/ranks/ranks.ts'
import { RankTree } from '../../../plugins/scores/ranks/tree.ts'
import { amount } from '../../kit/extent.ts'
import { startPlatform } from '../../kit/platform.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'
import { SEED } from '../../kit/seed.ts'

const SMALL = { leaf: 8, group: 8 }
const EXTREMES = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, 0, -1, 1]

const key = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: -20, max: 20 }) },
  { weight: 4, arbitrary: fc.integer({ min: -100_000, max: 100_000 }) },
  { weight: 1, arbitrary: fc.constantFrom(...EXTREMES) },
  { weight: 1, arbitrary: fc.maxSafeInteger() },
)
/** Either entries with these keys arrive, or a part of the entries from a position on goes. */
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ add: fc.array(key, { minLength: 1, maxLength: 40 }) }) },
  { weight: 1, arbitrary: fc.record({ add: fc.tuple(key).map(([one]) => Array<number>(30).fill(one)) }) },
  { weight: 2, arbitrary: fc.record({ from: fc.nat(100), remove: fc.nat(60) }) },
)

/** The first leaf loses all of its entries, and so takes in the next one, which has some: rarely found by chance. */
const EMPTIED_FIRST_LEAF = [{ add: Array.from({ length: 40 }, (_, key) => key) }, { from: 0, remove: 5 }]

async function prove(t: Test, config: Record<string, unknown>, runs: number): Promise<void> {
  const { app } = await startPlatform(t, { config })
  let boards = 0
  const replay = async (steps: ({ add: number[] } | { from: number; remove: number })[]) => {
    const ranking = { board: `b${++boards}`, period: 0 }
    let players = 0
    let entries: { key: number; player: string }[] = []
    for (const step of steps) {
      const added = 'add' in step ? step.add.map((one) => ({ key: one, player: `p${++players}` })) : []
      const from = 'from' in step ? Math.floor((entries.length * step.from) / 100) : 0
      const removed = 'remove' in step ? entries.slice(from, from + step.remove) : []
      await app.db.groupCommit(async (statements) => {
        const changes = new Map<number, number>()
        for (const { key, player } of added) {
          await statements.execute(
            'insert into score_entries (board, period, player_id, score, sort_key, at) values (?, 0, ?, ?, ?, ?)',
            [ranking.board, player, key, key, new Date(0)],
          )
          changes.set(key, (changes.get(key) ?? 0) + 1)
        }
        for (const { key, player } of removed) {
          const sql = 'delete from score_entries where board = ? and period = 0 and player_id = ?'
          await statements.execute(sql, [ranking.board, player])
          changes.set(key, (changes.get(key) ?? 0) - 1)
        }
        await new RankTree(statements, ranking, SMALL).update(changes)
      })
      entries = [...entries.filter((entry) => !removed.includes(entry)), ...added].sort((a, b) => a.key - b.key)
      const keys = entries.map((entry) => entry.key)
      const asked = [...new Set([...keys.slice(0, 20), ...keys.slice(-20), ...EXTREMES])]
      const { ranks, total } = await ranksOf(app.db, ranking, asked)
      if (total !== keys.length) throw new Error(`The total is ${total} instead of ${keys.length}.`)
      for (const one of asked) {
        const rank = 1 + keys.filter((other) => other < one).length
        if (ranks.get(one) !== rank) throw new Error(`The rank of ${one} is ${ranks.get(one)} instead of ${rank}.`)
      }
      await checkShape(app.db, ranking.board, keys)
    }
  }
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 14 }), replay), {
    seed: SEED,
    numRuns: runs,
    examples: [[EMPTIED_FIRST_LEAF]],
  })
  t.pass(`${boards} histories agree with the array`)
}

/** Every node counts what is in its range, leaves are small unless they have one key, and groups begin with a leaf. */
async function checkShape(db: Database, board: string, keys: number[]): Promise<void> {
  const read = async (level: number) =>
    (
      await db.query<{ low: number; entries: number }>(
        'select low, entries from score_nodes where board = ? and level = ? order by low',
        [board, level],
      )
    ).map(({ low, entries }, index, all) => ({ low, entries, end: all[index + 1]?.low ?? Number.MAX_SAFE_INTEGER + 1 }))
  const [leaves, groups] = [await read(LEAF), await read(GROUP)]
  for (const { low, end, entries } of [...leaves, ...groups]) {
    const inside = keys.filter((key) => key >= low && key < end).length
    if (inside !== entries) throw new Error(`The node at ${low} counts ${entries} entries instead of ${inside}.`)
  }
  for (const { low, end, entries } of leaves)
    if (entries > SMALL.leaf && end - low > 1) throw new Error(`The leaf at ${low} has ${entries} entries.`)
  for (const { low, end } of groups) {
    const inside = leaves.filter((leaf) => leaf.low >= low && leaf.low < end)
    if (inside[0]?.low !== low) throw new Error(`The group at ${low} begins with no leaf.`)
    if (inside.length > SMALL.group) throw new Error(`The group at ${low} has ${inside.length} leaves.`)
  }
  if (keys.length > 0 && leaves.length > 8 + keys.length) throw new Error(`${leaves.length} leaves for ${keys.length}.`)
}

t.test('ranks agree with a sorted array: SQLite', (t) => prove(t, {}, amount(25, 1000)))

t.test('ranks agree with a sorted array: PostgreSQL', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  await prove(t, { secret: 'x'.repeat(32), database: { driver: 'postgres', url } }, amount(4, 200))
})
