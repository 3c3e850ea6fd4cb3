// Several processes of one machine under load, of which one is killed every five seconds: clients who try again lose
// nothing.
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { aiConfig, openai, startAiServer } from '../kit/ai-server.ts'
import type { Cluster } from '../kit/cluster.ts'
import { hasPrograms } from '../kit/components.ts'
import { amount } from '../kit/extent.ts'
import { type Server, startServer } from '../kit/server.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { until } from '../kit/until.ts'
import { JobLoad } from './cluster-jobs.ts'
import { Load } from './cluster-load.ts'
import { deployPage, signUp, tokenOf } from './cluster-players.ts'
import { playInRooms } from './cluster-rooms.ts'

/** How long processes are killed, one every five seconds. */
const SECONDS = amount(20, 300)
const EVERY_MS = 5000
const PROCESSES = 3
const DEVELOPERS = 4

t.setTimeout(timeLimit(600 + SECONDS * 10))

t.test('hardship', async (t) => {
  const provider = await startAiServer(t, openai('Hello.', 1))
  const withBlender = hasPrograms(t, 'blender', 'bwrap')
  const server = await startServer(t, {
    config: {
      ai: aiConfig(provider),
      blender: withBlender ? { driver: 'subprocess', capacity: 1, threads: 1 } : { driver: 'none' },
      plugins: { billing: { signUpCredits: 1_000_000 } },
      limits: { rateLimits: false, gamesPerPlayer: 1_000_000, blenderLeaseSeconds: 5 },
    },
    env: { SERVICE_LISTEN__PROCESSES: String(PROCESSES) },
  })
  await until(async () => pidsOf(server).size === PROCESSES)
  const { portal, port } = server
  const yard = { portal, port, origin: (slug: string) => `http://${slug}.localhost:${port}` } as Cluster
  const load = await Load.begin(yard, DEVELOPERS)
  const database = new DatabaseSync(join(server.folder, 'data/gameyard.db'), { readOnly: true, timeout: timeLimit(10) })
  t.teardown(() => database.close())
  const wrong: unknown[] = []

  const owner = await signUp(portal, 'Ada')
  const token = await tokenOf(owner, portal, ['games:read', 'games:write', 'deployments:write'])
  const { game } = await deployPage(portal, token, 'Rooms', '<!doctype html><title>rooms</title>')
  const rooms = await playInRooms(yard, { game, token })
  const jobs = withBlender ? await JobLoad.begin(portal) : null

  const endsAt = Date.now() + SECONDS * 1000
  let kills = 0
  while (Date.now() < endsAt) {
    await sleep(EVERY_MS)
    const serving = [...pidsOf(server).values()].filter(isAlive)
    // With no process at all for two minutes, rooms would be forgotten, as they are when the platform stops.
    if (serving.length > 1) {
      process.kill(serving[Math.floor(Math.random() * serving.length)] as number, 'SIGKILL')
      kills++
    }
    wrong.push(...database.prepare(WRONG).all())
  }
  const { lost, written, back, longestMs } = await rooms.end()
  const acknowledged = await load.end()
  const ended = (await jobs?.end()) ?? []
  const { tally } = load
  t.comment(`${ended.length} jobs, ${ended.filter(({ attempts }) => attempts > 1).length} of them tried again`)
  t.same(
    ended.filter(({ status, attempts, error }) => {
      if (status === 'completed') return attempts > 2
      return error?.code !== 'worker_lost' || attempts !== 2
    }),
    [],
    'a job ends by itself, or because both processes that ran it were killed',
  )
  t.comment(`${kills} kills, ${tally.requests} requests, ${tally.errors.length} failed at first`)
  t.comment(`rooms: ${written} writes, players came back ${back} times, after ${longestMs} ms at the most`)
  t.same(lost, [], 'whoever is in a room comes back as the same player, and what the room has told stays')
  t.same(tally.failures, [], 'nothing acknowledged is lost')
  wrong.push(...database.prepare(WRONG).all())
  t.same(wrong, [], 'at no time was a balance other than the sum of its ledger')
  const generated = new Set(
    database
      .prepare('select id from ai_generations')
      .all()
      .map(({ id }) => id),
  )
  t.same(
    [...acknowledged].filter((id) => !generated.has(id)),
    [],
    'every generation is on record',
  )
  t.equal(generated.size, acknowledged.size, 'and no other: none was made twice for a key')
  const { charged } = database
    .prepare("select -sum(amount) as charged from credit_ledger where kind = 'generation'")
    .get() as { charged: number }
  t.equal(charged, acknowledged.size, 'each was charged once')
  t.equal(await server.stop(), 0)
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** The id of each process, by its number, as the supervisor has logged them. */
function pidsOf(server: Server): Map<number, number> {
  const pids = new Map<number, number>()
  for (const line of server.output().split('\n')) {
    if (!line.includes('"a process serves"')) continue
    const { process: number, pid } = JSON.parse(line)
    pids.set(number, pid)
  }
  return pids
}

const WRONG = `select a.player_id, a.balance, a.held, l.total from credit_accounts a
  left join (select player_id, sum(amount) as total from credit_ledger group by player_id) l on l.player_id = a.player_id
  where a.balance <> coalesce(l.total, 0) or a.held > a.balance or a.held < 0`
