// Several nodes and processes write to one board at once: ranks stay exact.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { amount } from '../../kit/extent.ts'
import { startPlatform } from '../../kit/platform.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'

const PLAYERS = 40
const ROUNDS = amount(3, 30)

async function prove(t: Test, config: Record<string, unknown>): Promise<void> {
  const nodes = [await startPlatform(t, { config }), await startPlatform(t, { config })] as const
  const owner = await nodes[0].signUp()
  const game = await nodes[0].game(owner)
  const { board } = await nodes[0].app.scores.boards.put(game.id, 'sum', { title: 'Sum', keep: 'sum', reset: 'daily' })
  const players: string[] = []
  for (let number = 0; number < PLAYERS; number++) {
    const id = `ply_${String(number).padStart(26, '0')}`
    players.push(id)
    await nodes[0].app.db.execute(
      `insert into players (id, email_verified, name, guest, is_admin, moderator, disabled, epoch, created_at)
       values (?, ?, ?, ?, ?, ?, ?, 0, ?)`,
      [id, false, `Player ${number}`, false, false, false, false, new Date()],
    )
  }
  const sums = new Map(players.map((id) => [id, 0]))
  for (let round = 0; round < ROUNDS; round++) {
    const submissions = players.flatMap((playerId, index) =>
      nodes.map(async ({ app }, node) => {
        const score = ((index * 7 + round * 3 + node) % 11) - 3
        sums.set(playerId, (sums.get(playerId) ?? 0) + score)
        return app.scores.submit({ gameId: game.id, boardId: 'sum', playerId, score, writer: 'players' })
      }),
    )
    const removed = players[round % PLAYERS] as string
    await Promise.all([
      ...submissions,
      // A player on whom one node works is hidden and shown again by the other.
      nodes[1].app.db.transaction((em) => nodes[1].app.scores.moderation.setHidden(em, removed, true)),
    ])
    for (const { app } of nodes) await app.db.transaction((em) => app.scores.moderation.setHidden(em, removed, false))
  }
  const sorted = [...sums.values()].sort((a, b) => b - a)
  for (const { app } of nodes) {
    for (const period of ['current', 'all'] as const) {
      const { entries, total } = await app.scores.lists.page(board, { limit: 100, period, playerId: null })
      t.equal(total, PLAYERS)
      t.same(
        entries.map(({ player, score }) => [player.sub, score]).sort(),
        [...sums].sort(),
        `${period}: no submission is lost or counted twice`,
      )
      for (const { score, rank } of entries)
        if (rank !== 1 + sorted.filter((other) => other > score).length) t.fail(`${score} has rank ${rank}`)
      for (const playerId of players) {
        const { me } = await app.scores.lists.page(board, { limit: 1, period, playerId })
        const score = sums.get(playerId) as number
        if (me?.rank !== 1 + sorted.filter((other) => other > score).length)
          t.fail(`${playerId}: ${JSON.stringify(me)}`)
      }
    }
  }
}

t.test('two nodes on PostgreSQL', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  await prove(t, { secret: 'x'.repeat(32), database: { driver: 'postgres', url } })
})

t.test(
  'boards made at once on PostgreSQL: no more than the limit, and one of the same name',
  needsPostgres,
  async (t) => {
    const url = await (await startPostgres()).database()
    const platform = await startPlatform(t, {
      config: { secret: 'x'.repeat(32), database: { driver: 'postgres', url } },
    })
    const owner = await platform.signUp()
    const { boards, lists } = platform.app.scores
    const [game, other] = [await platform.game(owner, { title: 'One' }), await platform.game(owner, { title: 'Two' })]
    const same = await Promise.all(Array.from({ length: 12 }, () => boards.put(other.id, 'sum', { title: 'Sum' })))
    t.equal(same.filter(({ created }) => created).length, 1)
    const made = await Promise.allSettled(
      Array.from({ length: 56 }, (_, index) => boards.put(game.id, `board-${index}`, { title: 'Board' })),
    )
    const refused = made.flatMap((each) => (each.status === 'rejected' ? [each.reason.code] : []))
    t.same(refused, Array(6).fill('too_many_boards'))
    const [{ board }] = same as [(typeof same)[0]]
    for (const at of [1e15, -1, Number.MAX_SAFE_INTEGER]) {
      const cursor = Buffer.from(JSON.stringify([1, at, owner.id])).toString('base64url')
      const query = { limit: 1, cursor, period: 'all', playerId: null } as const
      await t.rejects(lists.page(board, query), { code: 'invalid_request' }, `a cursor with the time ${at}`)
    }
  },
)

t.test('two processes on one SQLite file', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-scores-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  await prove(t, { secret: 'x'.repeat(32), database: { driver: 'sqlite', file: join(folder, 'shared.db') } })
})
