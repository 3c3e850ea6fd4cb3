// A cluster under load whose nodes die, whose Redis and whose PostgreSQL restart: clients who try again lose nothing.
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t, { type Test } from 'tap'
import { aiConfig, openai, startAiServer } from '../kit/ai-server.ts'
import { type Cluster, clusterMissing, startCluster } from '../kit/cluster.ts'
import { amount } from '../kit/extent.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { Load } from './cluster-load.ts'
import { deployPage, signUp, tokenOf } from './cluster-players.ts'
import { playInRooms } from './cluster-rooms.ts'

/** How long nodes are killed, one every twenty seconds. */
const SECONDS = amount(6, 300)
const EVERY_MS = 20_000
const DEVELOPERS = 6
/** Of each part at least: what one per cent is taken of. */
const REQUESTS = 800

t.setTimeout(timeLimit(600 + SECONDS * 10))

t.test('hardship', { skip: clusterMissing }, async (t) => {
  const provider = await startAiServer(t, openai('Hello.', 1))
  const cluster = await startCluster(t, {
    config: {
      ai: aiConfig(provider),
      plugins: { billing: { signUpCredits: 1_000_000 } },
      limits: { rateLimits: false, gamesPerPlayer: 1_000_000 },
    },
  })
  const load = await Load.begin(cluster, DEVELOPERS)
  const books = watchBooks(cluster.database)

  /** One part of the test: how many requests failed at first, of all there were. */
  const part = (name: string, happens: () => Promise<unknown>) =>
    t.test(name, async (t) => {
      const before = { requests: load.tally.requests, errors: load.tally.errors.length }
      await happens()
      await load.forRequests(before.requests + REQUESTS - load.tally.requests)
      const requests = load.tally.requests - before.requests
      const errors = load.tally.errors.slice(before.errors)
      t.comment(
        `${requests} requests, ${errors.length} failed at first: ${[...new Set(errors)].slice(0, 12).join('; ')}`,
      )
      t.ok(errors.length < requests / 100, `under 1 % failed at first: ${errors.length} of ${requests}`)
      t.same(load.tally.failures, [], 'and nothing once it was tried again')
    })

  const owner = await signUp(cluster.portal, 'Ada')
  const token = await tokenOf(owner, cluster.portal, ['games:read', 'games:write', 'deployments:write'])
  const { game } = await deployPage(cluster.portal, token, 'Rooms', '<!doctype html><title>rooms</title>')
  const rooms = await playInRooms(cluster, { game, token })
  await part(`kill -9 of a node every ${EVERY_MS / 1000} s for ${SECONDS} s`, () => killNodes(t, cluster))
  const { lost, written, back, longestMs } = await rooms.end()
  t.comment(`rooms: ${written} writes, players came back ${back} times, after ${longestMs} ms at the most`)
  t.same(lost, [], 'whoever is in a room comes back as the same player, and what the room has told stays')
  await part('Redis restarts', async () => {
    await cluster.redis.stop()
    await sleep(1000)
    await cluster.redis.start()
  })
  await part('PostgreSQL restarts', async () => {
    await cluster.postgres.stop()
    await cluster.postgres.start()
  })

  const acknowledged = await load.end()
  t.same(load.tally.failures, [], 'nothing acknowledged is lost')
  t.same(await books.end(), [], 'at no time was a balance other than the sum of its ledger')
  const { generated, charged } = await generationsIn(cluster.database)
  t.same(
    [...acknowledged].filter((id) => !generated.has(id)),
    [],
    'every generation is on record',
  )
  t.equal(generated.size, acknowledged.size, 'and no other: none was made twice for a key')
  t.equal(charged, acknowledged.size, 'each was charged once')
})

/** A supervisor starts each anew, on an empty disk. */
async function killNodes(t: Test, cluster: Cluster) {
  const endsAt = Date.now() + SECONDS * 1000
  for (let kill = 0; Date.now() < endsAt; kill++) {
    const next = Date.now() + EVERY_MS
    await sleep(3000 + Math.random() * 2000)
    const index = kill % cluster.nodes.length
    await cluster.nodes[index]?.stop('SIGKILL')
    await cluster.startNode(index)
    t.comment(`node ${index} was killed and is back`)
    await sleep(Math.max(0, Math.min(next, endsAt) - Date.now()))
  }
}

/** Looks at every account several times a second. */
function watchBooks(database: string) {
  const wrong: unknown[] = []
  let over = false
  const watching = (async () => {
    while (!over) {
      await select(database, WRONG).then(
        (rows) => wrong.push(...rows),
        () => {}, // PostgreSQL restarts
      )
      await sleep(300)
    }
    wrong.push(...(await select(database, WRONG)))
  })()
  return {
    async end() {
      over = true
      await watching
      return wrong
    },
  }
}

const WRONG = `select a.player_id, a.balance, a.held, l.total from credit_accounts a
  left join (select player_id, sum(amount) as total from credit_ledger group by player_id) l on l.player_id = a.player_id
  where a.balance <> coalesce(l.total, 0) or a.held > a.balance or a.held < 0`

async function generationsIn(database: string) {
  const rows = await select(database, 'select id from ai_generations')
  const [{ charged } = { charged: 0 }] = await select(
    database,
    "select -sum(amount) as charged from credit_ledger where kind = 'generation'",
  )
  return { generated: new Set(rows.map(({ id }) => id as string)), charged: Number(charged) }
}

async function select(database: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(database)
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end().catch(() => {})
  }
}
