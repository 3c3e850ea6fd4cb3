// `gameyard move` of a platform that serves, into PostgreSQL and a bucket, and back from there.
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t from 'tap'
import { stringify } from 'yaml'
import { PASSWORD } from '../kit/platform.ts'
import { needsPostgres, startPostgres } from '../kit/postgres.ts'
import { publishAt } from '../kit/remote-game.ts'
import { startBucketServer } from '../kit/s3rver.ts'
import { freePort, startServer } from '../kit/server.ts'
import { until } from '../kit/until.ts'
import { run, start, temporaryFolder } from './program.ts'

const COMMON = {
  auth: { passwordHashing: { memory: 8, passes: 1 } },
  blender: { driver: 'none' },
  limits: { rateLimits: false },
}

/** A row as text; PostgreSQL does not keep the order of the keys of JSON objects. */
const comparable = (row: Record<string, unknown>) =>
  JSON.stringify(
    Object.entries(row).map(([name, value]) => [
      name,
      /^[[{]/.test(String(value)) ? [...String(value)].sort().join('') : value,
    ]),
  )

const signUp = (portal: string, name: string) =>
  fetch(`${portal}/api/auth/sign-up`, {
    method: 'POST',
    headers: { origin: portal, 'content-type': 'application/json' },
    body: JSON.stringify({ email: `${name}@example.org`, password: PASSWORD, name: 'Load' }),
  })

/** Signs players up until it is stopped. @returns the addresses of those whose accounts were confirmed, and refusals */
function signUpLoop(portal: string) {
  const confirmed: string[] = []
  const refused: { status: number; retryAfter: string | null; code: string }[] = []
  let running = true
  let index = 0
  const work = async () => {
    while (running) {
      const name = `load${index++}`
      const answer = await signUp(portal, name)
      const body = (await answer.json()) as { error?: { code: string } }
      if (answer.ok) confirmed.push(`${name}@example.org`)
      else {
        refused.push({
          status: answer.status,
          retryAfter: answer.headers.get('retry-after'),
          code: body.error?.code ?? '',
        })
        await sleep(50)
      }
    }
  }
  const workers = [work(), work(), work()]
  return {
    confirmed,
    refused,
    async stop() {
      running = false
      await Promise.all(workers)
    },
  }
}

t.test('a platform that serves is moved, and no confirmed write is lost', needsPostgres, async (t) => {
  const s3 = await startBucketServer(['moved'])
  t.teardown(s3.close)
  const folder = temporaryFolder(t)
  const server = await startServer(t, { folder, config: COMMON })
  await publishAt(server.portal, { 'index.html': '<!doctype html><title>Pong</title>', 'big.bin': 'x'.repeat(100_000) })

  const url = await (await startPostgres()).database()
  const port = await freePort()
  const target = {
    ...COMMON,
    listen: { port },
    dataDir: './cluster',
    database: { driver: 'postgres', url },
    storage: { driver: 's3', ...s3.access, bucket: 'moved' },
  }
  writeFileSync(join(folder, 'cluster.yaml'), stringify(target))
  t.match(await run(t, ['move', '--to', 'cluster.yaml'], { cwd: folder }), {
    code: 1,
    stderr: /share the target's database, so it needs the secret\. The source keeps .*: base64 -w0 \S+keys\/secret\n$/,
  })
  t.notOk(existsSync(join(folder, 'cluster/keys')), 'nothing is copied')
  const secret = `base64:${readFileSync(join(folder, 'data/keys/secret')).toString('base64')}`
  writeFileSync(join(folder, 'cluster.yaml'), stringify({ ...target, secret }))

  const load = signUpLoop(server.portal)
  await until(() => load.confirmed.length >= 5)
  const moved = await run(t, ['move', '--to', 'cluster.yaml', '--json'], { cwd: folder })
  t.equal(moved.code, 0, moved.stderr)
  const summary = JSON.parse(moved.stdout)
  t.match(summary, { to: 'cluster.yaml', tables: Number, rows: Number, blobs: Number, stoppedMs: Number })
  t.match(moved.stderr, /Rows .*\n(.*\n)*Last changes/)
  await until(() => load.refused.length > 0)
  await load.stop()
  t.ok(load.confirmed.length > 5)
  for (const refusal of load.refused) t.same(refusal, { status: 503, retryAfter: '5', code: 'writes_stopped' })
  t.equal((await fetch(`${server.portal}/catalog`)).status, 200, 'pages are served to the end')
  await server.stop()

  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query<{ email: string }>("select email from players where email like 'load%'")
  await client.end()
  t.same(rows.map(({ email }) => email).sort(), load.confirmed.toSorted(), 'exactly the confirmed accounts')

  // Back, beside processes whose number the configuration doesn't have. One of them answers late.
  const cluster = start(t, ['serve', '--config', 'cluster.yaml', '--processes', '2'], { cwd: folder })
  const serves = /"process":2,"pid":(\d+),"msg":"a process serves"/
  const second = Number((await until(() => serves.exec(cluster.output().stdout)))[1])
  writeFileSync(join(folder, 'back.yaml'), stringify({ ...COMMON, listen: { port }, dataDir: './back', secret }))
  process.kill(second, 'SIGSTOP')
  const back = start(t, ['move', '--config', 'cluster.yaml', '--to', 'back.yaml'], { cwd: folder })
  await until(() => /^1 of 2 processes do not answer/m.test(back.output().stderr))
  process.kill(second, 'SIGCONT')
  t.match(await back.ended, {
    code: 0,
    stdout: /^Moved and compared \d+ rows of \d+ tables and \d+ files[\s\S]*gameyard serve --config back\.yaml\n$/,
  })
  for (const count of [1, 2, 3, 4]) t.equal((await signUp(`http://localhost:${port}`, `late${count}`)).status, 503)
  cluster.process.kill('SIGTERM')
  await cluster.ended
  const names = (file: string) => {
    const database = new DatabaseSync(join(folder, file), { readOnly: true })
    const tables = database
      .prepare("select name from sqlite_master where type = 'table' and name not like 'sqlite%' order by name")
      .all() as { name: string }[]
    const found = tables.map(({ name }) => [
      name,
      database.prepare(`select * from "${name}"`).all().map(comparable).sort(),
    ])
    database.close()
    // The platform has run in between.
    return Object.fromEntries(
      found.filter(([name]) => !['schema_migrations', 'background_jobs'].includes(String(name))),
    )
  }
  t.same(names('back/gameyard.db'), names('data/gameyard.db'), 'the same rows as before')
  const made = ['cluster', 'cluster/keys', 'back', 'back/blobs', 'back/keys']
  for (const path of made) t.equal(statSync(join(folder, path)).mode & 0o077, 0, `${path} is for its user alone`)
})

t.test('what cannot be moved ends with one sentence', async (t) => {
  const cwd = temporaryFolder(t)
  writeFileSync(join(cwd, 'gameyard.yaml'), stringify(COMMON))
  writeFileSync(join(cwd, 'other.yaml'), stringify({ ...COMMON, dataDir: './other' }))
  t.match(await run(t, ['move', '--to', 'other.yaml'], { cwd }), {
    code: 1,
    stderr: /^There is no data folder [^\n]*\n$/,
  })
  t.match(await run(t, ['move', '--to', 'gone.yaml'], { cwd }), { code: 1, stderr: /no file gone\.yaml/ })
  mkdirSync(join(cwd, 'data'))
  writeFileSync(join(cwd, 'same.yaml'), stringify(COMMON))
  t.match(await run(t, ['move', '--to', 'same.yaml'], { cwd }), {
    code: 1,
    stderr: /^same\.yaml has the same database and the same storage: there is nothing to move\.\n$/,
  })
})
