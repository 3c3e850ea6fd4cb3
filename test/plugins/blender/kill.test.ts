// Tests processes that die during jobs: the jobs are retried, at most twice, and the dead processes leave nothing
// behind.
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import t, { type Test } from 'tap'
import { ISOLATION } from '../../../drivers/blender/sandbox.ts'
import { start } from '../../bin/program.ts'
import { hasPrograms } from '../../kit/components.ts'
import { amount, inFull } from '../../kit/extent.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'
import { makeToken } from '../../kit/remote-sign-up.ts'
import { type Server, startServer } from '../../kit/server.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { until } from '../../kit/until.ts'

/** The number of times that the server is killed. */
const KILLS = amount(1, 30)
const LEASE_SECONDS = 2
/** The number of waiting and running jobs at the kill. */
const AT_ONCE = 4

t.setTimeout(timeLimit(480 + KILLS * 60))

const SCOPES = ['assets:read', 'assets:write', 'assets:generate']
const limits = { rateLimits: false, blenderLeaseSeconds: LEASE_SECONDS, blenderQueuedPerOwner: 1000 }

// biome-ignore lint/suspicious/noExplicitAny: what comes over the wire has no type; tests match its shape
type Json = any

/** An owner who uses whichever server is running. */
class Owner {
  readonly #token: string

  constructor(token: string) {
    this.#token = token
  }

  async ask({ portal }: Server, path: string, body?: object): Promise<{ status: number; body: Json }> {
    const answer = await fetch(`${portal}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: {
        authorization: `Bearer ${this.#token}`,
        ...(body ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    return { status: answer.status, body: await answer.json() }
  }

  submit = (server: Server, script: string) => this.ask(server, JOBS, { name: 'x', script })
  job = async (server: Server, id: string) => (await this.ask(server, `${JOBS}/${id}`)).body
}

const JOBS = '/api/blender/v1/jobs'

/** A process, with its start time, since process ids are reused. */
interface Member {
  pid: number
  start: string
}

/** Returns a process and all its descendants from `/proc`. */
async function familyOf(pid: number): Promise<Member[]> {
  const all: { pid: number; parent: number; start: string }[] = []
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (stat) all.push({ pid: Number(name), parent: Number(fields[1]), start: String(fields[19]) })
  }
  const family = all.filter((each) => each.pid === pid)
  for (const member of family) family.push(...all.filter(({ parent }) => parent === member.pid))
  return family
}

async function isThere({ pid, start }: Member): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields[19] === start && fields[0] !== 'Z'
}

/** Whether a process belongs to a sandbox that has not run anything yet; see `endLeftovers`. */
async function isStarting({ pid }: Member): Promise<boolean> {
  const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  return commandLine.includes(ISOLATION.join('\0'))
}

/**
 * Kills a process, and waits until all its descendants have ended, except sandboxes that were starting.
 *
 * @returns its descendants
 */
async function killWhole(t: Test, pid: number, kill: () => Promise<unknown>): Promise<Member[]> {
  const family = await familyOf(pid)
  await kill()
  const hasLeft = async (member: Member) => (await isThere(member)) && !(await isStarting(member))
  await assertGone(t, family, hasLeft, 'nothing of it runs')
  return family.filter((member) => member.pid !== pid)
}

async function assertGone(t: Test, family: Member[], hasLeft: (member: Member) => Promise<boolean>, message: string) {
  const left = async () => (await Promise.all(family.map(hasLeft))).filter(Boolean).length
  await until(async () => (await left()) === 0, 20).catch(() => {})
  t.equal(await left(), 0, message)
}

t.test(`kill -9 of the server, ${KILLS} times: no job is lost, run a third time, or stuck`, async (t) => {
  if (!hasPrograms(t, 'blender', 'bwrap')) return
  const folder = await mkdtemp(join(tmpdir(), 'gameyard-blender-kill-'))
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  const serve = () =>
    startServer(t, { folder, config: { blender: { driver: 'subprocess', capacity: 2, threads: 1 }, limits } })
  let server = await serve()
  const owners = [new Owner(await makeToken(server.portal, SCOPES)), new Owner(await makeToken(server.portal, SCOPES))]

  // This reads the database continuously: each run has its own lease.
  const database = new Sqlite(join(folder, 'data/gameyard.db'), { readonly: true })
  const leases = new Map<string, Set<string>>()
  const running = database.prepare(`select id, lease_id as lease from blender_jobs where status = 'running'`)
  const watch = setInterval(() => {
    for (const { id, lease } of running.all() as { id: string; lease: string }[])
      leases.set(id, (leases.get(id) ?? new Set()).add(lease))
  }, 20)
  t.teardown(() => {
    clearInterval(watch)
    database.close()
  })

  const accepted: { id: string; owner: Owner }[] = []
  const counts = () =>
    (database.prepare(`select count(*) as open from blender_jobs where status in ('queued', 'running')`).get() as Json)
      .open as number
  let whileRunning = 0
  for (let cycle = 0; cycle < KILLS; cycle++) {
    // Most jobs are short and end during the cycle; one does not end before the kill.
    while (counts() < AT_ONCE) {
      const owner = owners[accepted.length % 2] as Owner
      const script = `import time\ntime.sleep(${accepted.length % 4 === 0 ? 3 : 0})`
      const { status, body } = await owner.submit(server, script)
      if (status !== 202) throw new Error(`A job was answered with ${status}: ${JSON.stringify(body)}`)
      accepted.push({ id: body.id, owner })
    }
    await until(async () => running.all().length > 0)
    const late = (owners[0] as Owner).submit(server, 'pass').catch(() => null)
    await sleep(Math.random() * (cycle % 2 ? 6000 : 1500))
    const victim = server
    whileRunning += running.all().length
    const family = await killWhole(t, victim.process.pid as number, () => victim.stop('SIGKILL'))
    const answer = await late
    if (answer?.status === 202) accepted.push({ id: answer.body.id, owner: owners[0] as Owner })
    server = await serve()
    await assertGone(t, family, isThere, 'no process is left after the next start')
  }
  t.comment(`${accepted.length} jobs, ${whileRunning} of them running at a kill`)
  t.ok(whileRunning > 0, 'some ran when the server died')

  await until(async () => counts() === 0, 60 + accepted.length * 30)
  const jobs = await Promise.all(accepted.map(({ id, owner }) => owner.job(server, id)))
  t.ok(
    jobs.every(({ status }) => status === 'failed'),
    'each has ended: an empty scene is what these make',
  )
  const ends = new Map<string, number>()
  for (const { error } of jobs) ends.set(error?.code, (ends.get(error?.code) ?? 0) + 1)
  t.comment(JSON.stringify(Object.fromEntries(ends)))
  t.same(
    jobs.filter(
      ({ error, attempts }) => error?.code !== 'empty_scene' && !(error?.code === 'worker_lost' && attempts === 2),
    ),
    [],
    'by itself, or because two workers were lost',
  )
  t.same(
    [...leases].filter(([, seen]) => seen.size > 2),
    [],
    'and none has run more than twice',
  )
  const scratch = join(folder, 'data/blender')
  await until(async () => (await readdir(scratch, { recursive: true })).every((name) => !name.includes('run-')))
  t.same(
    (await readdir(scratch)).filter((name) => name !== `scratch-${server.process.pid}`),
    [],
    'the folders of the dead are gone',
  )
})

inFull(t)?.test(
  'workers apart from the server, on PostgreSQL: one is killed, and its job moves',
  needsPostgres,
  async (t) => {
    if (!hasPrograms(t, 'blender', 'bwrap')) return
    const server = await startServer(t, {
      config: {
        secret: 'the same for server and workers, and long enough',
        database: { driver: 'postgres', url: await (await startPostgres()).database() },
        blender: { driver: 'subprocess', capacity: 0, threads: 1 },
        // A machine that stands still for two seconds would end the last attempt too.
        limits: { ...limits, blenderLeaseSeconds: 10 },
      },
    })
    const owner = new Owner(await makeToken(server.portal, SCOPES))
    t.match(await owner.ask(server, '/api/blender/health'), {
      body: { status: 'unavailable', reason: /gameyard worker/, capacity: 0 },
    })
    t.match(await owner.submit(server, 'pass'), { status: 503, body: { error: { code: 'blender_not_configured' } } })

    const work = async (...options: string[]) => {
      const worker = start(t, ['worker', ...options], { cwd: server.folder })
      await worker.says('takes jobs')
      return worker
    }
    const workers = await Promise.all([work(), work('--capacity', '2')])
    t.match(await owner.ask(server, '/api/blender/health'), {
      body: { status: 'ok', executor: 'subprocess', capacity: 3 },
    })
    const script = "import time\ntime.sleep(3)\njob.box('box', (1, 1, 1), job.material('m', '#888888'))"
    const { body: job } = await owner.submit(server, script)
    const sizes = () => Promise.all(workers.map(async ({ process }) => (await familyOf(process.pid as number)).length))
    const [first = 0, second = 0] = await until(async () => {
      const found = await sizes()
      return found.some((size) => size > 1) && (await owner.job(server, job.id)).status === 'running' ? found : null
    })
    const [victim, other] = first > second ? workers : [workers[1], workers[0]]
    if (!victim || !other) throw new Error('There is no worker.')
    const ended = await killWhole(t, victim.process.pid as number, async () => {
      victim.process.kill('SIGKILL')
      await victim.ended
    })
    t.ok(ended.length > 0, 'it was in the middle of the job')
    const moved = await until(async () => {
      const { attempts, status } = await owner.job(server, job.id)
      return attempts === 2 && status === 'running'
    })
    t.ok(moved, 'the other has it')
    const done = await until(async () => {
      const found = await owner.job(server, job.id)
      return ['completed', 'failed'].includes(found.status) ? found : null
    }, 120)
    t.match(done, { status: 'completed', attempts: 2, error: null })

    const { body: last } = await owner.submit(server, script)
    await until(async () => (await owner.job(server, last.id)).status === 'running')
    other.process.kill('SIGTERM')
    t.equal((await other.ended).code, 0, 'one that is told to stop ends in order')
    t.match(await owner.job(server, last.id), { status: 'queued', attempts: 0 }, 'and gives its job back')
  },
)
