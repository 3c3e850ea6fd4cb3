import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { type Clock, systemClock } from '../../../core/clock.ts'
import { Database, type DatabaseDriver } from '../../../core/data/database.ts'
import { type Bus, Events } from '../../../core/events.ts'
import { BackgroundJob, type JobContext, Jobs, jobMigrations, PLATFORM } from '../../../core/jobs/jobs.ts'
import { currentAuthor, runAs } from '../../../core/observe/author.ts'
import { currentCaller, runForCaller } from '../../../core/observe/caller.ts'
import local from '../../../drivers/bus/local.ts'
import postgres from '../../../drivers/database/postgres.ts'
import sqlite from '../../../drivers/database/sqlite.ts'
import { captureLog, driverContext, manualClock } from '../../kit/driver-context.ts'
import { needsPostgres, type Postgres, startPostgres } from '../../kit/postgres.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { until } from '../../kit/until.ts'

const POLL_MS = 20
const SECOND = 1000
/** A job that does nothing; see `round`. */
const MARK = 'mark'

/** One database with any number of nodes, each with separate connections. */
interface Ground {
  dataDir: string
  openDriver(): Promise<DatabaseDriver>
}

const grounds = {
  async sqlite(t: Test): Promise<Ground> {
    const dataDir = await mkdtemp(join(tmpdir(), 'gameyard-jobs-'))
    t.teardown(() => rm(dataDir, { recursive: true, force: true }))
    const context = driverContext({ dataDir })
    const config = { file: 'jobs.db', durability: 'full', busyTimeout: 5000 } as const
    return { dataDir, openDriver: () => sqlite.create(config, context) }
  },
  async postgres(_t: Test, server?: Postgres): Promise<Ground> {
    const url = await (server as Postgres).database()
    const openDriver = () => postgres.create({ url, poolSize: 4, ssl: 'off' }, driverContext())
    return { dataDir: '', openDriver }
  },
}

interface NodeOptions {
  clock?: Clock
  bus?: Bus
  concurrency?: number
  pollMs?: number
}

async function startNode(t: Test, ground: Ground, { clock = systemClock, ...options }: NodeOptions = {}) {
  const { log, lines } = captureLog()
  const db = await Database.open(await ground.openDriver(), {
    entities: [BackgroundJob],
    migrations: jobMigrations,
    log,
    clock,
  })
  const bus = options.bus ?? (await local.create({}, driverContext()))
  const events = new Events(bus, log, `node-${Math.random()}`)
  await events.start()
  const jobs = new Jobs({ pollMs: POLL_MS, ...options, db, clock, log, events })
  t.teardown(async () => {
    await jobs.stop(0)
    await db.close()
  })
  jobs.handle(MARK, async () => {})
  const rows = () => db.em().find(BackgroundJob, { name: { $ne: MARK } }, { orderBy: { id: 'asc' } })
  /** Waits until a node has taken a job that is due last, so that whatever is due before has begun. */
  const round = async () => {
    await jobs.enqueue(db.em(), { owner: PLATFORM, name: MARK })
    await until(async () => (await db.em().count(BackgroundJob, { name: MARK })) === 0)
  }
  return { db, jobs, rows, round, lines }
}

for (const dialect of ['sqlite', 'postgres'] as const) {
  t.test(`background jobs on ${dialect}`, dialect === 'postgres' ? needsPostgres : {}, async (t) => {
    const server = dialect === 'postgres' ? await startPostgres() : undefined
    const ground = (t: Test) => grounds[dialect](t, server)

    await t.test('the migration makes exactly the table that the entity describes', async (t) => {
      const driver = await (await ground(t)).openDriver()
      const orm = await driver.open([BackgroundJob])
      t.teardown(() => driver.close())
      const statements = jobMigrations.flatMap((migration) => migration[dialect])
      await driver.migrate(async (em) => {
        for (const statement of statements) await em.execute(statement)
      })
      t.equal(await orm.schema.getUpdateSchemaSQL({ wrap: false }), '')
    })

    await t.test('a job runs with its payload once its transaction has committed, and leaves no row', async (t) => {
      const { db, jobs, rows } = await startNode(t, await ground(t), { pollMs: 86_400_000 })
      const seen: JobContext[] = []
      jobs.handle('greet', async (context) => void seen.push(context))
      await jobs.start()
      await db.transaction(async (em) => {
        await jobs.enqueue(em, { owner: PLATFORM, name: 'greet', payload: { to: 'Ada', list: [1, null, 'ü'] } })
        await sleep(50) // A job that is taken too early would be taken within this time.
        t.same(seen, [], 'not before the commit')
      })
      await until(() => seen.length === 1)
      t.match(seen, [{ payload: { to: 'Ada', list: [1, null, 'ü'] }, attempt: 1 }], 'woken at once, without a poll')
      await until(async () => (await rows()).length === 0)
    })

    await t.test('a transaction that rolls back leaves no job', async (t) => {
      const { db, jobs, rows, round } = await startNode(t, await ground(t))
      let ran = false
      jobs.handle('never', async () => {
        ran = true
      })
      await jobs.start()
      const failing = db.transaction(async (em) => {
        await jobs.enqueue(em, { owner: PLATFORM, name: 'never' })
        throw new Error('changed my mind')
      })
      await t.rejects(failing, { message: 'changed my mind' })
      await round()
      t.same(await rows(), [])
      t.notOk(ran)
    })

    await t.test('a job waits for its time, and one without a handler here is left alone', async (t) => {
      const clock = manualClock()
      const { db, jobs, rows, round } = await startNode(t, await ground(t), { clock })
      const ran: unknown[] = []
      jobs.handle('later', async ({ payload }) => void ran.push(payload))
      await jobs.start()
      const inAMinute = new Date(clock.now().getTime() + 60 * SECOND)
      await jobs.enqueue(db.em(), { owner: PLATFORM, name: 'later', payload: 'one', runAt: inAMinute })
      await jobs.enqueue(db.em(), { owner: PLATFORM, name: 'of-another-node' })
      clock.advance(59 * SECOND)
      await round()
      t.same(ran, [])
      clock.advance(SECOND)
      await until(() => ran.length === 1)
      t.same(ran, ['one'])
      await until(async () => (await rows()).length === 1)
      t.match(await rows(), [{ name: 'of-another-node', state: 'queued', attempts: 0 }])
    })

    await t.test('owners take turns, however many jobs one of them has, and so does the platform', async (t) => {
      const { db, jobs } = await startNode(t, await ground(t), { concurrency: 1 })
      const order: unknown[] = []
      jobs.handle('work', async ({ payload }) => void order.push(payload))
      await db.transaction(async (em) => {
        for (const [owner, count] of Object.entries({ b: 300, c: 2, p: 2, a: 2 })) {
          const job = { name: 'work', owner: owner === 'p' ? PLATFORM : owner, payload: owner }
          for (let at = 0; at < count; at++) await jobs.enqueue(em, job)
        }
      })
      await jobs.start()
      await until(() => order.length >= 12)
      t.equal(order.slice(0, 12).join(''), 'papbcabcbbbb')
    })

    await t.test('a failing job is tried again after 5, 10, 20 … seconds and is then kept as failed', async (t) => {
      const clock = manualClock()
      const { db, jobs, rows, round, lines } = await startNode(t, await ground(t), { clock })
      const at: number[] = []
      const start = clock.now().getTime()
      jobs.handle(
        'fragile',
        async ({ attempt }) => {
          at.push((clock.now().getTime() - start) / SECOND)
          throw new Error(`attempt ${attempt} failed`)
        },
        { maxAttempts: 4 },
      )
      await jobs.start()
      await jobs.enqueue(db.em(), { owner: PLATFORM, name: 'fragile', key: 'k', payload: 7 })
      for (let second = 0; second < 40; second++) {
        await settled(rows, clock)
        clock.advance(SECOND)
      }
      t.same(at, [0, 5, 15, 35])
      t.match(await rows(), [{ state: 'failed', error: 'attempt 4 failed', attempts: 4, dueAt: null, payload: 7 }])
      t.match(
        lines()
          .filter(({ job }) => job === 'fragile')
          .map(({ level }) => level),
        ['warn', 'warn', 'warn', 'error'],
      )

      clock.advance(3600 * SECOND)
      await round()
      t.equal(at.length, 4, 'and is not tried any more')
      await jobs.enqueue(db.em(), { owner: PLATFORM, name: 'fragile', key: 'k', payload: 8 })
      await until(() => at.length === 5)
      await settled(rows, clock)
      t.match(await rows(), [{ state: 'queued', payload: 8, attempts: 1 }], 'until it is enqueued anew')
    })

    await t.test('a key stands for one waiting job: the newest payload, the earliest time', async (t) => {
      const clock = manualClock()
      const { db, jobs, rows } = await startNode(t, await ground(t), { clock })
      const after = (seconds: number) => new Date(clock.now().getTime() + seconds * SECOND)
      const enqueue = (payload: number, seconds: number) =>
        jobs.enqueue(db.em(), { owner: PLATFORM, name: 'index', key: 'game-1', payload, runAt: after(seconds) })
      await enqueue(1, 30)
      await enqueue(2, 10)
      await enqueue(3, 20)
      await jobs.enqueue(db.em(), { owner: PLATFORM, name: 'index', key: 'game-2', payload: 4, runAt: after(5) })
      const byKey = Object.fromEntries((await rows()).map((row) => [row.key, row]))
      t.match(byKey, {
        'game-1': { payload: 3, dueAt: after(10) },
        'game-2': { payload: 4, dueAt: after(5) },
      })
      await Promise.all(Array.from({ length: 20 }, (_, index) => enqueue(index, 60)))
      t.equal((await rows()).length, 2, 'however many enqueue it at once')
    })

    await t.test('a key enqueued while its job runs makes it run once more, with what is new', async (t) => {
      const { db, jobs, rows, round } = await startNode(t, await ground(t))
      const began: unknown[] = []
      const gate = Promise.withResolvers<void>()
      jobs.handle('index', async ({ payload }) => {
        began.push(payload)
        if (began.length === 1) await gate.promise
      })
      await jobs.start()
      const enqueue = (payload: string) =>
        jobs.enqueue(db.em(), { owner: PLATFORM, name: 'index', key: 'game', payload })
      await enqueue('old')
      await until(() => began.length === 1)
      await enqueue('newer')
      await enqueue('newest')
      await round()
      t.same(began, ['old'], 'never two at once')
      gate.resolve()
      await until(async () => (await rows()).length === 0)
      t.same(began, ['old', 'newest'])
    })

    await t.test('a key enqueued while the last attempt fails is tried anew', async (t) => {
      const { db, jobs, rows } = await startNode(t, await ground(t))
      const began: unknown[] = []
      const gate = Promise.withResolvers<void>()
      jobs.handle(
        'index',
        async ({ payload, attempt }) => {
          began.push([payload, attempt])
          if (payload === 'new') return
          await gate.promise
          throw new Error('the old one cannot be done')
        },
        { maxAttempts: 1 },
      )
      await jobs.start()
      await jobs.enqueue(db.em(), { owner: PLATFORM, name: 'index', key: 'game', payload: 'old' })
      await until(() => began.length === 1)
      await jobs.enqueue(db.em(), { owner: PLATFORM, name: 'index', key: 'game', payload: 'new' })
      gate.resolve()
      await until(async () => (await rows()).length === 0)
      t.same(began, [
        ['old', 1],
        ['new', 1],
      ])
    })

    await t.test('an attempt that waits for its back-off counts anew when the job is enqueued', async (t) => {
      const clock = manualClock()
      const { db, jobs, rows } = await startNode(t, await ground(t), { clock })
      const attempts: number[] = []
      jobs.handle(
        'fragile',
        async ({ attempt }) => {
          attempts.push(attempt)
          throw new Error('not yet')
        },
        { maxAttempts: 2 },
      )
      await jobs.start()
      for (const runs of [1, 2, 3]) {
        await jobs.enqueue(db.em(), { owner: PLATFORM, name: 'fragile', key: 'k' })
        await until(() => attempts.length === runs)
        await settled(rows, clock)
      }
      t.same(attempts, [1, 1, 1])
      t.match(await rows(), [{ state: 'queued', attempts: 1 }])
    })

    await t.test('a running job may plan its own next run', async (t) => {
      const clock = manualClock()
      const { db, jobs, rows } = await startNode(t, await ground(t), { clock })
      let runs = 0
      jobs.handle('reminder', async () => {
        runs++
        const runAt = new Date(clock.now().getTime() + 3600 * SECOND)
        await jobs.enqueue(db.em(), { owner: PLATFORM, name: 'reminder', key: 'r', runAt })
      })
      await jobs.start()
      await jobs.enqueue(db.em(), { owner: PLATFORM, name: 'reminder', key: 'r' })
      await until(async () => runs === 1 && (await rows())[0]?.state === 'queued')
      t.match(await rows(), [{ dueAt: new Date(clock.now().getTime() + 3600 * SECOND), attempts: 0, rerunAt: null }])
      clock.advance(3600 * SECOND)
      await until(() => runs === 2)
      t.equal(runs, 2)
    })

    await t.test('two nodes share 60 jobs, and never run one twice', async (t) => {
      const shared = await ground(t)
      const bus = await local.create({}, driverContext())
      const nodes = [await startNode(t, shared, { bus }), await startNode(t, shared, { bus })] as const
      const ran: Record<string, number> = {}
      const by = [0, 0]
      nodes.forEach(({ jobs }, index) => {
        jobs.handle<string>('count', async ({ payload }) => {
          ran[payload] = (ran[payload] ?? 0) + 1
          by[index] = (by[index] ?? 0) + 1
          // A node has room for four, so the other one has to take some as well.
          await until(() => by[0] && by[1])
        })
      })
      await Promise.all(nodes.map(({ jobs }) => jobs.start()))
      const [{ db, jobs, rows }] = nodes
      await db.transaction(async (em) => {
        for (let index = 0; index < 60; index++)
          await jobs.enqueue(em, { owner: PLATFORM, name: 'count', payload: `job ${index}` })
      })
      await until(async () => (await rows()).length === 0)
      t.equal(Object.keys(ran).length, 60)
      t.ok(Object.values(ran).every((times) => times === 1))
    })

    await t.test('a node runs no more handlers at once than it is told', async (t) => {
      const { db, jobs, rows } = await startNode(t, await ground(t), { concurrency: 3 })
      let [now, most] = [0, 0]
      jobs.handle('busy', async () => {
        most = Math.max(most, ++now)
        await until(() => most >= 3)
        await sleep(50) // A fourth job would start within this time.
        now--
      })
      await jobs.start()
      await db.transaction(async (em) => {
        for (let index = 0; index < 12; index++) await jobs.enqueue(em, { owner: PLATFORM, name: 'busy' })
      })
      await until(async () => (await rows()).length === 0)
      t.equal(most, 3)
    })

    await t.test('a lease is renewed for as long as the handler runs', async (t) => {
      const clock = manualClock()
      const shared = await ground(t)
      const [one, two] = [await startNode(t, shared, { clock }), await startNode(t, shared, { clock })]
      let runs = 0
      const gate = Promise.withResolvers<void>()
      for (const { jobs } of [one, two]) {
        const run = async () => {
          runs++
          await gate.promise
        }
        jobs.handle('long', run, { leaseSeconds: 1.5 })
        await jobs.start()
      }
      await one.jobs.enqueue(one.db.em(), { owner: PLATFORM, name: 'long' })
      await until(() => runs === 1)
      for (let second = 1; second <= 4; second++) {
        clock.advance(SECOND)
        const renewed = clock.now().getTime() + 1.5 * SECOND
        await until(async () => (await one.rows())[0]?.dueAt?.getTime() === renewed)
        await one.round()
        await two.round()
      }
      gate.resolve()
      await until(async () => (await one.rows()).length === 0)
      t.equal(runs, 1)
    })

    await t.test('an attempt that lost its lease is told, and can no longer decide over the job', async (t) => {
      const clock = manualClock()
      const { db, jobs, rows, round } = await startNode(t, await ground(t), { clock })
      const lost = Promise.withResolvers<unknown>()
      jobs.handle(
        'slow',
        async ({ signal }) => {
          await once(signal, 'abort')
          lost.resolve(signal.reason)
        },
        { leaseSeconds: 0.3 },
      )
      await jobs.start()
      await jobs.enqueue(db.em(), { owner: PLATFORM, name: 'slow' })
      await until(async () => (await rows())[0]?.state === 'running')
      const later = new Date(clock.now().getTime() + 60 * SECOND)
      await db.em().nativeUpdate(BackgroundJob, {}, { leaseId: 'another', dueAt: later })
      t.match(await lost.promise, { message: 'the lease was lost' })
      await round()
      t.match(await rows(), [{ state: 'running', leaseId: 'another' }])
    })

    await t.test('stop waits for what ends in time', async (t) => {
      const { db, jobs, rows } = await startNode(t, await ground(t))
      const gate = Promise.withResolvers<void>()
      let isRunning = false
      jobs.handle('quick', async () => {
        isRunning = true
        await gate.promise
      })
      await jobs.start()
      await jobs.enqueue(db.em(), { owner: PLATFORM, name: 'quick' })
      await until(() => isRunning)
      const stopped = jobs.stop(timeLimit())
      gate.resolve()
      await stopped
      t.same(await rows(), [], 'it was done')
    })

    await t.test('stop gives back what does not end, for the next start', async (t) => {
      const shared = await ground(t)
      const { db, jobs, rows } = await startNode(t, shared)
      let aborted = false
      jobs.handle('stubborn', ({ signal }) => {
        signal.addEventListener('abort', () => {
          aborted = true
        })
        return new Promise(() => {})
      })
      await jobs.start()
      await jobs.enqueue(db.em(), { owner: PLATFORM, name: 'stubborn', payload: 1 })
      await until(async () => (await rows()).every(({ state }) => state === 'running'))
      await jobs.enqueue(db.em(), {
        owner: PLATFORM,
        name: 'stubborn',
        payload: 2,
        runAt: new Date(Date.now() + 3600 * SECOND),
      })
      await jobs.stop(10)
      t.ok(aborted)
      t.match(await rows(), [
        { payload: 1, state: 'queued', attempts: 0, leaseId: null },
        { payload: 2, state: 'queued', attempts: 0 },
      ])

      const next = await startNode(t, shared)
      const taken: JobContext[] = []
      next.jobs.handle('stubborn', async (context) => void taken.push(context))
      await next.jobs.start()
      await until(() => taken.length === 1)
      t.match(taken, [{ payload: 1, attempt: 1 }])
    })

    await t.test('a job that stop ends early is given back, and one that completes is done', async (t) => {
      const { db, jobs, rows, lines } = await startNode(t, await ground(t))
      const untilAborted = (signal: AbortSignal) => once(signal, 'abort')
      jobs.handle('cut', async ({ signal }) => {
        await untilAborted(signal)
        signal.throwIfAborted()
      })
      jobs.handle('complete', async ({ signal }) => void (await untilAborted(signal)))
      jobs.every('sweep', 3600, async ({ signal }) => void (await untilAborted(signal)))
      await jobs.start()
      for (const name of ['cut', 'complete']) await jobs.enqueue(db.em(), { owner: PLATFORM, name })
      await until(async () => (await rows()).every(({ state }) => state === 'running'))
      await jobs.stop(10)
      const left = await rows()
      t.same(left.map(({ name }) => name).sort(), ['cut', 'sweep'], 'what completed is not done twice')
      t.match(left, Array(2).fill({ state: 'queued', attempts: 0, leaseId: null }))
      t.same(
        lines().filter(({ level }) => level === 'warn' || level === 'error'),
        [],
        'and nothing has failed',
      )
    })

    await t.test('a periodic job runs on one node at a time, each period once, errors or not', async (t) => {
      const clock = manualClock()
      const shared = await ground(t)
      const nodes = [await startNode(t, shared, { clock }), await startNode(t, shared, { clock })] as const
      let [now, most, runs] = [0, 0, 0]
      for (const { jobs } of nodes) {
        jobs.every('sweep', 60, async () => {
          runs++
          most = Math.max(most, ++now)
          await sleep(10)
          now--
          if (runs === 2) throw new Error('on purpose')
        })
        await jobs.start()
      }
      const [{ rows, round, jobs, db }] = nodes
      const runsAfter = async (seconds: number) => {
        clock.advance(seconds * SECOND)
        await round()
        await settled(rows, clock)
        return runs
      }
      t.equal(await runsAfter(0), 1, 'at once')
      t.equal(await runsAfter(59), 1)
      t.equal(await runsAfter(1), 2)
      t.match(await rows(), [{ name: 'sweep', state: 'queued', error: 'on purpose' }])
      t.equal(await runsAfter(60), 3)
      t.match(await rows(), [{ error: null, attempts: 0 }])
      t.equal(most, 1)
      await t.rejects(jobs.enqueue(db.em(), { owner: PLATFORM, name: 'sweep' }), { message: /periodic job/ })

      const restarted = await startNode(t, shared, { clock })
      restarted.jobs.every('sweep', 20, async () => void runs++)
      await restarted.jobs.start()
      t.equal(await runsAfter(0), 3, 'a restart repeats no turn')
      t.equal(await runsAfter(20), 4, 'and a shorter period holds from then on')
    })

    await t.test('after a long pause, which a wrong clock looks like, what deletes waits for a day', async (t) => {
      const clock = manualClock()
      const shared = await ground(t)
      const ran: string[] = []
      const start = async () => {
        const node = await startNode(t, shared, { clock })
        node.jobs.every('forget', 3600, async () => void ran.push('forget'))
        node.jobs.every('watch', 60, async () => void ran.push('watch'))
        await node.jobs.start()
        await node.round()
        await settled(node.rows, clock)
        return node
      }
      const run = async () => {
        ran.length = 0
        const { jobs, lines } = await start()
        await jobs.stop(timeLimit())
        return {
          ran: ran.toSorted(),
          warned: lines().some(({ msg }) => /clock of this machine/.test(String(msg))),
        }
      }
      t.same(await run(), { ran: ['forget', 'watch'], warned: false }, 'a first start')
      clock.advance(29 * 86_400 * SECOND)
      t.same(await run(), { ran: ['forget', 'watch'], warned: false }, 'a holiday')
      clock.advance(3650 * 86_400 * SECOND)
      t.same(await run(), { ran: ['watch'], warned: true }, 'ten years')
      clock.advance(-3650 * 86_400 * SECOND)
      t.same(await run(), { ran: [], warned: false }, 'the clock was corrected, so nothing is due')
      clock.advance(3600 * SECOND)
      t.same(await run(), { ran: ['forget', 'watch'], warned: false }, 'and an hour later it is')
      clock.advance(60 * 86_400 * SECOND)
      t.same(await run(), { ran: ['watch'], warned: true }, 'two months')
      clock.advance(86_400 * SECOND)
      t.same(await run(), { ran: ['forget', 'watch'], warned: false }, 'a day after them')
    })
  })
}

t.test('a job whose worker was killed runs on another node when the lease ends, and fails in the end', async (t) => {
  const ground = await grounds.sqlite(t)
  const { db, jobs, rows, lines } = await startNode(t, ground)
  await jobs.enqueue(db.em(), { owner: PLATFORM, name: 'endless' })

  const killed = async () => {
    const script = fileURLToPath(new URL('jobs-worker.ts', import.meta.url))
    const child = spawn(process.execPath, [script, ground.dataDir], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [said] = await once(child.stdout, 'data')
    const dead = once(child, 'exit')
    child.kill('SIGKILL')
    await dead
    return String(said).trim()
  }
  t.equal(await killed(), 'started attempt 1')
  t.match(await rows(), [{ state: 'running', attempts: 1 }])
  t.equal(await killed(), 'started attempt 2')

  const attempts: number[] = []
  jobs.handle(
    'endless',
    async ({ attempt }) => {
      attempts.push(attempt)
      if (attempt === 3) throw new Error('not yet')
    },
    { maxAttempts: 4, backoffSeconds: 0.05 },
  )
  await jobs.start()
  await until(async () => (await rows()).length === 0)
  t.same(attempts, [3, 4])
  t.match(
    lines().filter(({ level }) => level === 'warn'),
    [{ msg: 'took over a job from a lost worker' }, { msg: 'a job failed and will be tried again' }],
  )
})

t.test('an owner with nothing running comes before one whose turn it is', async (t) => {
  const { db, jobs } = await startNode(t, await grounds.sqlite(t), { concurrency: 2 })
  const began: string[] = []
  const gates = { a1: Promise.withResolvers<void>(), b1: Promise.withResolvers<void>() }
  jobs.handle<string>('work', async ({ payload }) => {
    began.push(payload)
    await gates[payload as 'a1']?.promise
  })
  await jobs.start()
  const enqueue = (payload: string) => jobs.enqueue(db.em(), { name: 'work', owner: payload.slice(0, 1), payload })
  await enqueue('b1')
  await until(() => began.length === 1)
  await enqueue('a1')
  await until(() => began.length === 2)
  for (const payload of ['b2', 'b3', 'c1']) await enqueue(payload)
  gates.a1.resolve()
  await until(() => began.length === 5)
  gates.b1.resolve()
  t.same(began, ['b1', 'a1', 'c1', 'b2', 'b3'], 'and otherwise an owner has as many at once as there is room for')
})

t.test('jobs of a kind with a limit of its own leave room for the others', async (t) => {
  const { db, jobs, rows, round } = await startNode(t, await grounds.sqlite(t), { concurrency: 2 })
  const began: unknown[] = []
  const gate = Promise.withResolvers<void>()
  const run = async ({ payload }: JobContext) => {
    began.push(payload)
    await gate.promise
  }
  jobs.handle('render', run, { concurrency: 1 })
  await jobs.start()
  for (const owner of ['a', 'b', 'c']) await jobs.enqueue(db.em(), { name: 'render', owner, payload: owner })
  await until(() => began.length === 1)
  await round()
  t.equal(began.length, 1, 'one runs, and another kind of job has passed the two that wait')
  gate.resolve()
  await until(async () => (await rows()).length === 0)
  t.same(began.toSorted(), ['a', 'b', 'c'])
})

t.test('a job runs outside of the request that has enqueued it, and so do all later ones', async (t) => {
  const { db, jobs } = await startNode(t, await grounds.sqlite(t), { pollMs: 86_400_000 })
  const checked: string[] = []
  db.checkCallers(async (_statements, { playerId }) => void checked.push(playerId))
  const seen: unknown[] = []
  jobs.handle('mail', async () => void seen.push([currentCaller(), currentAuthor().kind]))
  await jobs.start()
  const ada = { kind: 'person', playerId: 'ada', name: null, tool: null } as const
  const request = Promise.withResolvers<void>()
  const enqueued = Promise.withResolvers<void>()
  runForCaller({ playerId: 'ada', role: null }, () =>
    runAs(ada, async () => {
      // Without polls, this is what begins the search for jobs.
      await db.transaction((em) => jobs.enqueue(em, { owner: PLATFORM, name: 'mail' }))
      enqueued.resolve()
      await request.promise
    }),
  )
  await enqueued.promise
  await until(() => seen.length === 1)
  await jobs.enqueue(db.em(), { owner: PLATFORM, name: 'mail' })
  await until(() => seen.length === 2)
  t.same(seen, [
    [null, 'platform'],
    [null, 'platform'],
  ])
  t.same(checked, ['ada'], 'only the transaction of the request reads its caller')
  request.resolve()
})

t.test('a job that kills its worker each time is given up', async (t) => {
  const clock = manualClock()
  const { db, jobs, rows } = await startNode(t, await grounds.sqlite(t), { clock })
  let ran = false
  const run = async () => {
    ran = true
  }
  jobs.handle('poison', run, { maxAttempts: 2 })
  await jobs.enqueue(db.em(), { owner: PLATFORM, name: 'poison' })
  // This is the state after two workers died: the second attempt's lease has expired.
  await db.em().nativeUpdate(BackgroundJob, {}, { state: 'running', attempts: 2, leaseId: 'gone' })
  await jobs.start()
  await until(async () => (await rows())[0]?.state === 'failed')
  t.match(await rows(), [{ state: 'failed', error: 'The worker was lost.', dueAt: null }])
  t.notOk(ran)
})

t.test('a job that was asked for again while its last worker died is tried anew', async (t) => {
  const clock = manualClock()
  const { db, jobs, rows } = await startNode(t, await grounds.sqlite(t), { clock })
  const began: unknown[] = []
  jobs.handle('index', async ({ payload, attempt }) => void began.push([payload, attempt]), { maxAttempts: 2 })
  const enqueue = (payload: string) => jobs.enqueue(db.em(), { owner: PLATFORM, name: 'index', key: 'game', payload })
  await enqueue('old')
  await db.em().nativeUpdate(BackgroundJob, {}, { state: 'running', attempts: 2, leaseId: 'gone' })
  await enqueue('new')
  await jobs.start()
  await until(async () => (await rows()).length === 0 || (await rows())[0]?.state === 'failed')
  t.same(await rows(), [])
  t.same(began, [['new', 1]], 'once, and as it was asked for last')
})

/** Waits until no job runs or is due. */
async function settled(rows: () => Promise<BackgroundJob[]>, clock: Clock): Promise<void> {
  const isOpen = ({ state, dueAt }: BackgroundJob) => state === 'running' || (dueAt != null && dueAt <= clock.now())
  await until(async () => !(await rows()).some(isOpen))
}
