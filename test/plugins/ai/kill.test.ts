// kill -9 between hold and settle: whatever was held comes back, whatever was charged had been generated.
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import t from 'tap'
import { openai, startAiServer } from '../../kit/ai-server.ts'
import { makeToken } from '../../kit/remote.ts'
import { freePort } from '../../kit/server.ts'

/** How many times the server dies; a longer run is asked for by the environment. */
const KILLS = Number(process.env.GAMEYARD_AI_KILLS ?? 4)
const CREDITS = 100_000
/** Requests under way when it dies. */
const AT_ONCE = 6

t.setTimeout(60_000 + KILLS * 20_000)

t.test(`kill -9 at ${KILLS} moments between hold and settle loses nothing and charges for nothing`, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'gameyard-kill-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  let answered = 0
  let atOnce = false
  const provider = await startAiServer(t, async (asked, response) => {
    // Half of the answers come at once, so that some are being settled at the moment of death; the others hang.
    if (!atOnce) await sleep(Math.random() < 0.5 ? Math.random() * 40 : 60_000, undefined, { ref: false })
    if (asked.aborted) return
    answered++
    await openai('Hello.', 1)(asked, response)
  })
  const port = await freePort()
  const portal = `http://localhost:${port}`
  const serve = (hours = 0) => start(folder, port, provider.url, hours)
  let server = await serve()
  t.teardown(() => void server.kill('SIGKILL'))
  const token = await makeToken(portal, ['ai:generate'])
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  await fetch(`${portal}/api/ai/credits`, { headers })

  /** What the caller knows of each key: the generation, or null when no answer came. */
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
    const before = provider.requests.length
    const callers = Array.from({ length: AT_ONCE }, () => generate(() => !dead))
    while (provider.requests.length <= before) await sleep(2)
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

  server.kill('SIGKILL')
  await once(server, 'exit')
  server = await serve(1) // an hour later every hold has expired
  const deadline = Date.now() + 60_000
  while (inspect(folder).held > 0 && Date.now() < deadline) await sleep(50)
  const { balance, sum, held, charges, generations } = inspect(folder)
  t.equal(held, 0, 'after a restart all holds come back')
  t.equal(balance, sum)
  t.equal(balance, CREDITS - charges, 'one credit for each charge')
  t.same(generations.length, charges, 'a charge is a generation')
  t.ok(charges <= answered, `${charges} charges for ${answered} answers of the provider`)
  const acknowledged = [...known.values()].filter((id) => id !== null)
  t.ok(
    acknowledged.every((id) => generations.includes(id)),
    `${acknowledged.length} acknowledged generations are all charged`,
  )

  // Who asks again with the same key gets what was charged, though its answer never came; nothing is charged twice.
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

async function start(folder: string, port: number, provider: string, hours: number): Promise<ChildProcess> {
  const program = join(import.meta.dirname, 'killable.ts')
  const child = spawn(process.execPath, [program, folder, String(port), provider, String(hours)], {
    // It ends when nobody holds its standard input any more: with this process, however that ends.
    stdio: ['pipe', 'ignore', 'inherit'],
    env: { PATH: process.env.PATH },
  })
  for (let tries = 0; tries < 600; tries++) {
    if (child.exitCode !== null) throw new Error(`The server ended with ${child.exitCode}.`)
    const answer = await fetch(`http://localhost:${port}/readyz`).catch(() => null)
    if (answer?.ok) return child
    await sleep(50)
  }
  throw new Error('The server did not come up.')
}
