// `gameyard move` of two nodes with a Redis: what a kill at the end leaves, and nodes that answer late or not at all.
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { PASSWORD } from '../kit/platform.ts'
import { needsPostgres, startPostgres } from '../kit/postgres.ts'
import { needsRedis, startRedis } from '../kit/redis.ts'
import { startBucketServer } from '../kit/s3rver.ts'
import { freePort, type Server, startServer } from '../kit/server.ts'
import { until } from '../kit/until.ts'
import { run, start, temporaryFolder } from './program.ts'

const needsServers = { skip: needsPostgres.skip || needsRedis.skip }

/** Two nodes, and the configuration of a new place for them, in which the files of both are. */
async function startNodes(t: Test) {
  const folder = temporaryFolder(t)
  const s3 = await startBucketServer(['files'])
  t.teardown(s3.close)
  const redis = await startRedis(t)
  const [from, into] = [await (await startPostgres()).database(), await (await startPostgres()).database()]
  const shared = {
    auth: { passwordHashing: { memory: 8, passes: 1 } },
    blender: { driver: 'none' },
    limits: { rateLimits: false },
    secret: randomBytes(32).toString('hex'),
    storage: { driver: 's3', ...s3.access, bucket: 'files' },
    bus: { driver: 'redis', url: redis.url },
  }
  const port = await freePort()
  const target = { ...shared, listen: { port }, dataDir: './moved', database: { driver: 'postgres', url: into } }
  writeFileSync(join(folder, 'target.yaml'), stringify(target))
  const startNode = (name: string) => {
    const own = join(folder, name)
    mkdirSync(own, { recursive: true })
    return startServer(t, { folder: own, config: { ...shared, database: { driver: 'postgres', url: from } } })
  }
  const one = await startNode('one')
  const two = await startNode('two')
  const arguments_ = ['move', '--config', 'one/gameyard.yaml', '--to', 'target.yaml']
  return {
    one,
    two,
    into,
    startNode,
    /** Starts the move; it runs until it has ended. */
    move: () => start(t, arguments_, { cwd: folder }),
    serveTarget: () => run(t, ['serve', '--config', 'target.yaml'], { cwd: folder }),
  }
}

const signUp = ({ portal }: Server, email: string) =>
  fetch(`${portal}/api/auth/sign-up`, {
    method: 'POST',
    headers: { origin: portal, 'content-type': 'application/json' },
    body: JSON.stringify({ email, password: PASSWORD, name: 'Ada' }),
  })

async function emailsIn(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ email: string }>('select email from players order by email')
  return rows.map(({ email }) => email)
}

async function connect(t: Test, url: string): Promise<pg.Client> {
  const client = new pg.Client(url)
  await client.connect()
  t.teardown(() => client.end())
  return client
}

t.test('a move that is killed before the target is complete leaves no place twice', needsServers, async (t) => {
  const { one, two, into, move, serveTarget, startNode } = await startNodes(t)
  t.equal((await signUp(one, 'a@example.org')).status, 201)

  // The mark of the target is the last row that a move removes. It can't while this lock is held.
  const [target, lock] = [await connect(t, into), await connect(t, into)]
  const killed = move()
  await until(async () => (await signUp(one, 'a@example.org')).status === 503)
  await lock.query('begin; lock table schema_migrations in share mode')
  let removing: number | undefined
  await until(async () => {
    const { rows } = await target.query<{ pid: number }>(
      `select pid from pg_stat_activity where wait_event_type = 'Lock' and query like 'delete from schema_migrations%'`,
    )
    removing = rows[0]?.pid
    return removing !== undefined
  })
  killed.process.kill('SIGKILL')
  await killed.ended
  // Its statement would still run when the lock is released.
  await target.query('select pg_terminate_backend($1)', [removing])
  await lock.query('rollback')

  for (const node of [one, two])
    t.match(await (await signUp(node, 'lost@example.org')).json(), { error: { code: 'writes_stopped' } })
  t.equal((await fetch(`${one.portal}/catalog`)).status, 200, 'pages are served')
  t.match(await serveTarget(), {
    code: 1,
    stderr: /target of a `gameyard move` or `gameyard restore` that is not complete/,
  })

  // The operator goes on with the old place for a while. The same command then takes everything.
  await Promise.all([one.stop(), two.stop()])
  const [again] = [await startNode('one'), await startNode('two')]
  t.equal((await signUp(again, 'b@example.org')).status, 201)
  const finished = await move().ended
  t.equal(finished.code, 0, finished.stderr)
  t.equal((await signUp(again, 'lost@example.org')).status, 503)
  t.same(await emailsIn(target), ['a@example.org', 'b@example.org'])
})

t.test('a move waits for a node that answers late, and ends for one that does not', needsServers, async (t) => {
  const { one, two, into, move } = await startNodes(t)
  t.equal((await signUp(one, 'a@example.org')).status, 201)
  two.process.kill('SIGSTOP')
  const stuck = await move().ended
  t.match(stuck, {
    code: 1,
    stderr: /A node that is connected to the bus has not stopped writing: stop every node that hangs/,
  })
  await until(async () => (await signUp(one, 'b@example.org')).status === 201)

  const late = move()
  await until(async () => (await signUp(one, 'b@example.org')).status === 503)
  // Longer than nodes that are not known have. The request arrives before the node is asked to stop.
  const underWay = signUp(two, 'c@example.org')
  await sleep(1500)
  t.notMatch(late.output().stderr, /Last changes/)
  two.process.kill('SIGCONT')
  const confirmed = (await underWay).status === 201
  const moved = await late.ended
  t.equal(moved.code, 0, moved.stderr)
  t.equal((await signUp(two, 'lost@example.org')).status, 503)
  const emails = ['a@example.org', 'b@example.org', ...(confirmed ? ['c@example.org'] : [])]
  t.same(await emailsIn(await connect(t, into)), emails, 'exactly what was confirmed')
})
