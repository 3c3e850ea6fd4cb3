import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import t from 'tap'
import { amount } from '../../kit/extent.ts'
import { startKillable } from '../../kit/killable-server.ts'
import { PASSWORD } from '../../kit/platform.ts'
import { publishAt } from '../../kit/remote-game.ts'
import { freePort } from '../../kit/server.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { Visitor } from '../../kit/visitor.ts'

/** The number of times that the server is killed. */
const KILLS = amount(1, 100)
const CLIENTS = 8

t.setTimeout(timeLimit(480 + KILLS * 20))

/** What a client has submitted to a board that keeps sums. */
interface Client {
  player: Visitor
  /** The sum of all acknowledged scores. */
  sum: number
  /** The score that is on its way, which may be stored without an acknowledgement. */
  pending: number
}

t.test(
  `kill -9 at ${KILLS} moments while ${CLIENTS} clients submit loses no score, and counts none twice`,
  async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'gameyard-scores-kill-'))
    t.teardown(() => rm(folder, { recursive: true, force: true }))
    const port = await freePort()
    const portal = `http://localhost:${port}`
    const start = () => startKillable(join(import.meta.dirname, 'killable.ts'), { folder, port, rest: [] })
    let server = await start()
    t.teardown(() => void server.kill('SIGKILL'))
    const restart = async () => {
      const ended = once(server, 'exit')
      server.kill('SIGKILL')
      await ended
      server = await start()
    }
    const { id, slug, cookie } = await publishAt(portal, { 'index.html': 'hello' })
    const made = await fetch(`${portal}/api/games/${id}/boards/sum`, {
      method: 'PUT',
      headers: { cookie, origin: portal, 'content-type': 'application/json' },
      body: JSON.stringify({ title: 'Sum', keep: 'sum' }),
    })
    t.equal(made.status, 201)
    const game = `http://${slug}.localhost:${port}`
    const board = `${game}/__service/scores/sum`
    const clients: Client[] = []
    for (let number = 0; number < CLIENTS; number++) {
      const player = new Visitor()
      const name = `Player ${number}`
      await player.post(`${portal}/api/auth/sign-up`, {
        name,
        email: `player${number}@example.org`,
        password: PASSWORD,
      })
      await player.follow(`${game}/auth/service/start`)
      clients.push({ player, sum: 0, pending: 0 })
    }
    await restart() // which fills the board

    const submit = async (client: Client): Promise<void> => {
      for (;;) {
        const score = Math.floor(Math.random() * 101) - 40
        client.pending = score
        const { status, body } = await client.player.post(board, { score })
        if (status !== 200) throw new Error(`${status}: ${JSON.stringify(body)}`)
        client.sum += score
        client.pending = 0
        submissions++
        if (body.best !== client.sum) t.fail(`The sum is ${body.best} instead of ${client.sum}.`)
      }
    }
    let submissions = 0
    for (let cycle = 1; cycle <= KILLS; cycle++) {
      let isDead = false
      const running = clients.map((client) =>
        submit(client).catch((error) => {
          if (!isDead) throw error
        }),
      )
      const before = submissions
      while (submissions < before + 2 * CLIENTS) await Promise.race([sleep(5), ...running])
      await sleep(Math.random() * 300)
      isDead = true
      await restart()
      await Promise.all(running)

      const wrong = wrongNodes(join(folder, 'data/gameyard.db'))
      t.same(wrong, [], `cycle ${cycle}: the tree counts each entry once`)
      for (const client of clients) {
        const { body } = await client.player.get(`${board}?around=me&limit=1`)
        const { score, rank } = body.me
        const isExpected = score === client.sum || score === client.sum + client.pending
        t.ok(isExpected, `cycle ${cycle}: the sum is ${score}; acknowledged was ${client.sum}`)
        client.sum = score
        t.equal(rank, rankOf(join(folder, 'data/gameyard.db'), score), 'and its rank is exact')
      }
    }
    t.comment(`${submissions} submissions acknowledged`)
  },
)

/** Returns the nodes whose number differs from that of the entries in their range. */
function wrongNodes(file: string): unknown[] {
  return read(
    file,
    `with n as (select board, period, level, low, entries,
       lead(low) over (partition by board, period, level order by low) as next from score_nodes)
     select *, (select count(*) from score_entries e where e.board = n.board and e.period = n.period
       and e.sort_key >= n.low and (n.next is null or e.sort_key < n.next)) as counted
     from n where counted <> n.entries`,
  )
}

function rankOf(file: string, score: number): number {
  const [row] = read(file, 'select count(*) + 1 as rank from score_entries where score > ?', score)
  return (row as { rank: number }).rank
}

function read(file: string, sql: string, ...parameters: unknown[]): unknown[] {
  const database = new Sqlite(file, { readonly: true })
  try {
    return database.prepare(sql).all(parameters)
  } finally {
    database.close()
  }
}
