import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
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

/** The acknowledged values of one key, by version. */
type Acknowledged = Map<number, string>

t.test(`kill -9 at ${KILLS} moments while ${CLIENTS} clients write loses no acknowledged version`, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'gameyard-saves-kill-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const port = await freePort()
  const portal = `http://localhost:${port}`
  const start = () => startKillable(join(import.meta.dirname, 'killable.ts'), { folder, port, rest: [] })
  let server = await start()
  t.teardown(() => void server.kill('SIGKILL'))
  const { slug } = await publishAt(portal, { 'index.html': 'hello' })
  const game = `http://${slug}.localhost:${port}`

  // Two clients of each player, who share a key and have one of their own.
  const players: Visitor[] = []
  for (let number = 0; number < CLIENTS / 2; number++) {
    const visitor = new Visitor()
    const name = `Writer ${number}`
    const account = { name, email: `writer${number}@example.org`, password: PASSWORD }
    await visitor.post(`${portal}/api/auth/sign-up`, account)
    await visitor.follow(`${game}/auth/service/start`)
    players.push(visitor)
  }
  const acknowledged = players.map(() => new Map<string, Acknowledged>())
  let writes = 0

  const write = async (client: number): Promise<void> => {
    const player = players[Math.floor(client / 2)] as Visitor
    const keys = acknowledged[Math.floor(client / 2)] as Map<string, Acknowledged>
    for (let turn = 0; ; turn++) {
      const key = turn % 2 === 0 ? 'shared' : `own${client}`
      // Every tenth value goes into the storage.
      const value = `${client} ${writes++} ${'x'.repeat(turn % 10 === 9 ? 20_000 : 500)}`
      const answer = await player.request('PUT', `${game}/__service/saves/${key}`, value, {
        'content-type': 'text/plain',
      })
      if (answer.status > 201) throw new Error(`${answer.status}: ${JSON.stringify(answer.body)}`)
      const versions = keys.get(key) ?? new Map<number, string>()
      if (versions.has(answer.body.version)) t.fail(`two values have version ${answer.body.version}`)
      keys.set(key, versions.set(answer.body.version, value))
    }
  }

  for (let cycle = 1; cycle <= KILLS; cycle++) {
    let isDead = false
    const clients = Array.from({ length: CLIENTS }, (_, client) =>
      write(client).catch((error) => {
        if (!isDead) throw error
      }),
    )
    const before = writes
    while (writes < before + 2 * CLIENTS) await sleep(5)
    await sleep(Math.random() * 300)
    isDead = true
    server.kill('SIGKILL')
    await once(server, 'exit')
    await Promise.all(clients)
    server = await start()

    for (const [index, player] of players.entries()) {
      for (const [key, versions] of acknowledged[index] as Map<string, Acknowledged>) {
        const last = Math.max(...versions.keys())
        const { body } = await player.get(`${game}/__service/saves/${key}/versions`)
        const kept: number[] = body.versions.map(({ version }: { version: number }) => version)
        const newest = kept[0] ?? 0
        // One value of each client may be stored without an acknowledgement.
        t.ok(newest >= last && newest <= last + 2, `cycle ${cycle}: ${key} is at ${newest}, acknowledged was ${last}`)
        t.same(
          kept,
          Array.from({ length: Math.min(5, newest) }, (_, age) => newest - age),
          'with the versions before it',
        )
        const current = await player.request('GET', `${game}/__service/saves/${key}`)
        const expected = versions.get(newest)
        if (expected !== undefined) t.equal(String(current.body), expected, 'and its value')
        for (const version of versions.keys()) if (version < newest - 10) versions.delete(version)
      }
    }
  }
  t.comment(`${writes} writes begun`)
})
