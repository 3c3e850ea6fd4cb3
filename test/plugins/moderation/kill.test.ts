// Tests kill -9 while the staff suspends: each decision is done with all of its parts, or not at all.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import t from 'tap'
import { amount } from '../../kit/extent.ts'
import { PASSWORD } from '../../kit/platform.ts'
import { signUpAt } from '../../kit/remote-sign-up.ts'
import { freePort, type Server, startServer } from '../../kit/server.ts'
import { timeLimit } from '../../kit/time-limit.ts'

/** The number of times that the server is killed. */
const KILLS = amount(1, 20)
const GAMES = amount(12, 30)
const CHEAP = { passwordHashing: { memory: 8, passes: 1 } }

t.setTimeout(timeLimit(120 + KILLS * 30))

t.test(`kill -9 at ${KILLS} moments of suspensions leaves each of them done or not done`, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-moderation-kill-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const config = { limits: { rateLimits: false, gamesPerPlayer: 10_000 }, blender: { driver: 'none' }, auth: CHEAP }
  // The port stays, since the origin of the sessions has it.
  const options = { folder, config, port: await freePort() }
  let server: Server = await startServer(t, options)
  const admin = await setUp(server)
  const owner = await signUpAt(server.portal)
  let cutOff = 0
  for (let cycle = 1; cycle <= KILLS; cycle++) {
    const ids = await reportedGames(server.portal, owner)
    let dead = false
    const acknowledged: string[] = []
    // It dies while decisions are under way: after the first, and before the last.
    const enough = 1 + (((cycle - 1) * 5) % (GAMES - 4))
    const { promise: killed, resolve: kill } = Promise.withResolvers<void>()
    const { portal } = server
    const suspending = [0, 1, 2].map(async (lane) => {
      for (let index = lane; index < ids.length && !dead; index += 3) {
        const id = ids[index] as string
        const body = { action: 'suspend', message: `Reason of ${id}` }
        const status = await post(`${portal}/api/admin/reports/${id}`, admin, body).catch(() => null)
        if (status === 201) acknowledged.push(id)
        if (acknowledged.length === enough) kill()
        if (status !== 201 && !dead) throw new Error(`A decision was answered ${status}.`)
      }
    })
    await Promise.race([killed, Promise.all(suspending)])
    dead = true
    await server.stop('SIGKILL')
    await Promise.all(suspending)
    const done = inspect(folder)
    const torn = done.filter((parts) => new Set(parts.slice(1)).size > 1)
    t.same(torn, [], `cycle ${cycle}: a suspension has its reason, audit row, closed report, decision and job`)
    const suspended = new Set(done.filter(([, state]) => state === 1).map(([id]) => id))
    t.same(
      acknowledged.filter((id) => !suspended.has(id)),
      [],
      'what was acknowledged is done',
    )
    cutOff += ids.filter((id) => !suspended.has(id)).length
    server = await startServer(t, options)
    const [first = ''] = acknowledged
    const { suspended: kept } = (await (
      await fetch(`${server.portal}/api/games/${first}`, { headers: owner })
    ).json()) as {
      suspended: { reason: string } | null
    }
    t.equal(kept?.reason, `Reason of ${first}`)
  }
  t.comment(`${cutOff} suspensions were not done`)
  t.equal(await server.stop(), 0)
})

/** Creates the administrator. @returns the headers of their browser */
async function setUp({ portal, setupLink }: Server): Promise<Record<string, string>> {
  const account = { name: 'Ada', email: 'ada@example.org', password: PASSWORD }
  const headers = { origin: portal, 'content-type': 'application/x-www-form-urlencoded' }
  const body = new URLSearchParams(account)
  const made = await fetch(setupLink as string, { method: 'POST', headers, body, redirect: 'manual' })
  if (made.status !== 303) throw new Error(`The set-up was answered ${made.status}.`)
  const cookie = made.headers.getSetCookie().map((line) => line.split(';')[0])
  return { origin: portal, 'content-type': 'application/json', cookie: cookie.join('; ') }
}

async function post(url: string, headers: Record<string, string>, body: unknown): Promise<number> {
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  await answer.arrayBuffer()
  return answer.status
}

/** Creates games that a visitor has reported. */
async function reportedGames(portal: string, owner: Record<string, string>): Promise<string[]> {
  const ids: string[] = []
  for (let index = 0; index < GAMES; index++) {
    const body = JSON.stringify({ title: `Game ${index}`, description: '' })
    const made = await fetch(`${portal}/api/games`, { method: 'POST', headers: owner, body })
    if (made.status !== 201) throw new Error(await made.text())
    const { id } = (await made.json()) as { id: string }
    const report = { target: { kind: 'game', id }, category: 'spam', text: 'Spam.' }
    const status = await post(`${portal}/api/reports`, { 'content-type': 'application/json' }, report)
    if (status !== 201) throw new Error(`A report was answered ${status}.`)
    ids.push(id)
  }
  return ids
}

/** Returns for each game whether each part of its suspension is there, as 0 or 1. */
function inspect(folder: string): [id: string, ...parts: number[]][] {
  const database = new Sqlite(join(folder, 'data/gameyard.db'), { readonly: true })
  try {
    const rows = database.prepare(`select g.id,
      suspended_at is not null as suspended,
      (select count(*) from audit where target_id = g.id and action = 'game.suspend') as audited,
      (select count(*) from reports where target_id = g.id and state = 'upheld') as upheld,
      (select count(*) from report_decisions where target_id = g.id) as decided,
      (select count(*) from background_jobs j join report_decisions d on j."key" = d.id where d.target_id = g.id) as told
      from games g`)
    return rows.raw().all() as [string, ...number[]][]
  } finally {
    database.close()
  }
}
