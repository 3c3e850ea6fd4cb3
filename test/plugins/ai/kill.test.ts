// Tests kill -9 between hold and settle: held credits are released, and each charge has a generation.
import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import t from 'tap'
import { openai, startAiServer } from '../../kit/ai-server.ts'
import { amount, inFull } from '../../kit/extent.ts'
import { startKillable } from '../../kit/killable-server.ts'
import { makeToken } from '../../kit/remote-sign-up.ts'
import { freePort } from '../../kit/server.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { until } from '../../kit/until.ts'

/** The number of times that the server is killed. */
const KILLS = amount(1, 25)
const CREDITS = 100_000
/** The number of running requests at the kill. */
const AT_ONCE = 6

t.setTimeout(timeLimit(480 + KILLS * 20))

t.test(`kill -9 at ${KILLS} moments between hold and settle loses nothing and charges for nothing`, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'gameyard-kill-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  let answered = 0
  let atOnce = false
  let asks = 0
  let hanging = 0
  const provider = await startAiServer(t, async (asked, response) => {
    // Half of the responses come immediately, so that some requests are settling at the kill; the others hang.
    const hangs = !atOnce && asks++ % 2 === 1
    if (hangs) hanging++
    if (!atOnce) await sleep(hangs ? 600_000 : Math.random() * 40, undefined, { ref: false })
    if (asked.aborted) return
    answered++
    await openai('Hello.', 1)(asked, response)
  })
  const port = await freePort()
  const portal = `http://localhost:${port}`
  const program = join(import.meta.dirname, 'killable.ts')
  const serve = (hours = 0) => startKillable(program, { folder, port, rest: [provider.url, String(hours)] })
  let server = await serve()
  t.teardown(() => void server.kill('SIGKILL'))
  const token = await makeToken(portal, ['ai:generate'])
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  await fetch(`${portal}/api/ai/credits`, { headers })

  /** The client's knowledge of each key: the generation, or null without a response. */
  const known = new Map<string, string | null>()
  const ask = async (key: string) => {
    const answer = await fetch(`${portal}/api/ai/generate`, {
      method: 'POST',
      headers: { ...headers, 'idempotency-key': key },
      body: JSON.stringify({ type: 'text', prompt: 'Greet.' }),
    }).catch(() => null)
    const generation = answer?.ok ? ((await answer.json().catch(() => null)) as { id: string } | null) : null
    known.set(key, generation?.id ?? null)
    return { generation, replayed: answer?.headers.get('idempotent-replay') === 'true' }
  }
  const generate = async (alive: () => boolean) => {
    while (alive()) await ask(randomUUID())
  }
  let leftHeld = 0
  for (let cycle = 1; cycle <= KILLS; cycle++) {
    let dead = false
    const before = hanging
    const callers = Array.from({ length: AT_ONCE }, () => generate(() => !dead))
    await until(() => hanging > before)
    await sleep(Math.random() * 120)
    dead = true
    server.kill('SIGKILL')
    await once(server, 'exit')
    await Promise.all(callers)
    const state = inspect(folder)
    t.equal(state.balance, state.sum, `cycle ${cycle}: the balance is the sum of the ledger`)
    t.equal(state.held, state.holds, `cycle ${cycle}: what is held is the sum of the holds`)
    leftHeld = Math.max(leftHeld, state.held)
    server = await serve()
  }
  t.ok(leftHeld > 0, 'it did die between hold and settle')

  const { balance, sum, held, charges, generations } = inspect(folder)
  t.equal(held, 0, 'after a restart all holds have come back, before anybody is answered')
  t.equal(balance, sum)
  t.equal(balance, CREDITS - charges, 'one credit for each charge')
  t.same(generations.length, charges, 'a charge is a generation')
  t.ok(charges <= answered, `${charges} charges for ${answered} answers of the provider`)
  const acknowledged = [...known.values()].filter((id) => id !== null)
  t.ok(
    acknowledged.every((id) => generations.includes(id)),
    `${acknowledged.length} acknowledged generations are all charged`,
  )

  // An hour later no request under the earlier keys is still running.
  server.kill('SIGKILL')
  await once(server, 'exit')
  server = await serve(1)
  // A repeated request with the same key returns the charged generation whose response was lost. Nothing is charged
  // twice.
  const lost = charges - acknowledged.length
  const open = [...known].filter(([, id]) => id === null).map(([key]) => key)
  atOnce = true
  let replays = 0
  for (const key of open) {
    const { generation, replayed } = await ask(key)
    t.ok(generation, 'asked again, it is answered')
    if (replayed) replays++
    t.equal(replayed, generations.includes(generation?.id ?? ''), 'by what was charged, or anew')
  }
  t.equal(replays, lost, `${lost} answers were charged and lost on their way; all came again`)
  t.equal(inspect(folder).charges, known.size, 'each key is charged once')
})

inFull(t)?.test(
  'a start gives back what a dead process of its data folder held, and leaves those that live alone',
  async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'gameyard-holders-'))
    t.teardown(() => rm(folder, { recursive: true, force: true }))
    const waiting: (() => void)[] = []
    const provider = await startAiServer(t, async (asked, response) => {
      await new Promise<void>((done) => waiting.push(done))
      if (!asked.aborted) await openai('Hello.', 1)(asked, response)
    })
    const ports = [await freePort(), await freePort()] as const
    const portals = ports.map((port) => `http://localhost:${port}`)
    const program = join(import.meta.dirname, 'killable.ts')
    const serve = (which: 0 | 1) => startKillable(program, { folder, port: ports[which], rest: [provider.url, '0'] })
    const servers = [await serve(0), await serve(1)]
    t.teardown(() => servers.map((server) => server.kill('SIGKILL')))
    const token = await makeToken(portals[0] as string, ['ai:generate'])
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const ask = (which: 0 | 1) => {
      const body = JSON.stringify({ type: 'text', prompt: 'Greet.' })
      return fetch(`${portals[which]}/api/ai/generate`, { method: 'POST', headers, body }).catch(() => null)
    }
    const asked = [ask(0), ask(0), ask(1)]
    await until(() => waiting.length === 3)
    const one = inspect(folder).held / 3
    t.ok(one > 0)
    servers[0]?.kill('SIGKILL')
    await once(servers[0] as ChildProcess, 'exit')
    servers[0] = await serve(0)
    t.match(inspect(folder), { held: one, holds: one }, 'what the other process holds stays held')
    for (const answer of waiting) answer()
    t.equal((await asked[2])?.status, 200, 'and is charged for')
    t.match(inspect(folder), { held: 0, charges: 1, balance: CREDITS - 1 })
    const marks = () => readdirSync(join(folder, 'data/processes')).length
    t.equal(marks(), 2, 'a mark for each process that lives')
  },
)

function inspect(folder: string) {
  const database = new Sqlite(join(folder, 'data/gameyard.db'), { readonly: true })
  const one = (sql: string) => database.prepare(sql).pluck().get() as number
  try {
    return {
      balance: one('select balance from credit_accounts'),
      held: one('select held from credit_accounts'),
      sum: one('select sum(amount) from credit_ledger'),
      holds: one('select coalesce(sum(amount), 0) from credit_holds'),
      charges: one("select count(*) from credit_ledger where kind = 'generation'"),
      generations: database.prepare('select id from ai_generations').pluck().all() as string[],
    }
  } finally {
    database.close()
  }
}
