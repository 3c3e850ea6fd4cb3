// `node killable.ts <folder> <port>`: the platform, to be killed at any moment. Boards without entries get some of
// players who never come, so that their trees have several leaves.
import { RankTree } from '../../../plugins/scores/ranks/tree.ts'
import { serveKillable } from '../../kit/killable-platform.ts'

const ENTRIES = 3000
const SCORES = 200

const app = await serveKillable()
const empty = await app.db.query<{ key: string }>(
  'select key from score_boards where not exists (select 1 from score_entries where board = key)',
)
for (const { key } of empty) {
  await app.db.groupCommit(async (statements) => {
    const changes = new Map<number, number>()
    for (let number = 0; number < ENTRIES; number++) {
      const score = number % SCORES
      await statements.execute(
        'insert into score_entries (board, period, player_id, score, sort_key, at) values (?, 0, ?, ?, ?, ?)',
        [key, `ply_X${String(number).padStart(25, '0')}`, score, -score, new Date()],
      )
      changes.set(-score, (changes.get(-score) ?? 0) + 1)
    }
    await new RankTree(statements, { board: key, period: 0 }).update(changes)
  })
}
