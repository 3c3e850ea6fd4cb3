// Tests the order of jobs and their leases with workers that do nothing, so no Blender is needed.
import t, { type Test } from 'tap'
import { SESSION_MS } from '../../../core/http/event-streams.ts'
import { newId } from '../../../core/ids.ts'
import { JobRow } from '../../../plugins/blender/entities.ts'
import { type Claim, Queue } from '../../../plugins/blender/jobs/queue.ts'
import { startPlatform } from '../../kit/platform.ts'
import { until } from '../../kit/until.ts'

const LIMITS = { queuedPerOwner: 1000, runningPerOwner: 2, leaseSeconds: 30 }

async function open(t: Test, limits = LIMITS) {
  const { app, clock } = await startPlatform(t)
  const queue = new Queue(app, limits)
  const submit = async (ownerId: string) => {
    const id = newId('job', clock.now())
    await queue.submit({
      id,
      ownerId,
      purpose: 'job',
      name: 'x',
      action: 'create',
      template: 'prop',
      parameters: {},
      starterAssets: [],
      faceLimit: 1000,
      sourceJobId: null,
      script: null,
    })
    return id
  }
  const claim = async (): Promise<Claim> => {
    const claim = await queue.claim()
    if (!claim) throw new Error('There is nothing to claim.')
    return claim
  }
  const finish = (claim: Claim) => queue.finish(claim, { status: 'completed', artifacts: [], log: '' })
  const rowOf = (id: string) => app.db.em().findOneOrFail(JobRow, { id })
  const statusOf = async (id: string) => (await rowOf(id)).status
  return { app, clock, queue, submit, claim, finish, statusOf, rowOf }
}

t.test('500 jobs of 10 owners run in turns: nobody is ever two ahead, and positions are exact', async (t) => {
  const { queue, submit, claim, finish } = await open(t)
  const owners = Array.from({ length: 10 }, (_, index) => `ply_${index}`)
  // The owners submit one after the other: first in, first out would starve the last one.
  for (const owner of owners) for (let i = 0; i < 50; i++) await submit(owner)
  const positions = new Map<string, number>()
  for (const owner of owners) for (const [id, place] of await queue.positions([owner])) positions.set(id, place)
  t.same(await queue.positions(owners), positions, 'of all together too')
  t.same(
    [...positions.values()].sort((a, b) => a - b),
    Array.from({ length: 500 }, (_, index) => index + 1),
  )
  const served = new Map(owners.map((owner) => [owner, 0]))
  let unfair = 0
  let misplaced = 0
  for (let turn = 1; turn <= 500; turn++) {
    const next = await claim()
    if (positions.get(next.job.id) !== turn) misplaced++
    served.set(next.job.ownerId, (served.get(next.job.ownerId) ?? 0) + 1)
    const counts = [...served.values()]
    if (Math.max(...counts) - Math.min(...counts) > 1) unfair++
    await finish(next)
  }
  t.equal(unfair, 0)
  t.equal(misplaced, 0)
  t.equal(await queue.claim(), null)
})

t.test('who comes new is served in the next turn, however many wait; who comes one by one gains nothing', async (t) => {
  const { submit, claim, finish } = await open(t)
  for (let i = 0; i < 20; i++) await submit('ply_many')
  for (let i = 0; i < 5; i++) await finish(await claim())
  await submit('ply_new')
  const order: string[] = []
  for (let i = 0; i < 6; i++) {
    const next = await claim()
    order.push(next.job.ownerId)
    await finish(next)
    if (next.job.ownerId === 'ply_new') await submit('ply_new')
  }
  t.same(order, ['ply_many', 'ply_new', 'ply_many', 'ply_new', 'ply_many', 'ply_new'])
})

t.test('an owner runs two at once, and others pass by', async (t) => {
  const { queue, submit, claim, finish } = await open(t)
  for (let i = 0; i < 4; i++) await submit('ply_a')
  const first = await claim()
  await claim()
  t.equal(await queue.claim(), null, 'not a third')
  await submit('ply_b')
  t.equal((await claim()).job.ownerId, 'ply_b')
  await finish(first)
  t.equal((await claim()).job.ownerId, 'ply_a')
})

t.test('a lost worker costs a job one attempt, twice are the end; what it says late is ignored', async (t) => {
  const { clock, queue, submit, claim, finish, statusOf, rowOf } = await open(t)
  const id = await submit('ply_a')
  const lost = await claim()
  clock.advance(20_000)
  t.equal(await queue.renew(lost), true)
  clock.advance(29_000)
  t.same(await queue.recover(), [], 'its lease was renewed')
  clock.advance(2000)
  // The platform's own periodic job may have run before.
  await queue.recover()
  t.match(await rowOf(id), { status: 'queued', attempts: 1 })
  const second = await claim()
  t.equal(second.job.attempts, 2)
  t.equal(await finish(lost), false, 'the first worker has lost it')
  t.equal(await queue.renew(lost), false)
  t.same(await queue.lost([lost, second]), [lost])
  t.equal(await statusOf(id), 'running')
  clock.advance(31_000)
  await queue.recover()
  t.match(await rowOf(id), { status: 'failed', errorCode: 'worker_lost' })
  t.equal(await queue.claim(), null)
})

t.test('where no Blender runs, the jobs of a worker that died do not stay running', async (t) => {
  const { app, clock, submit, claim, rowOf } = await open(t)
  t.equal(app.blenderDriver.capacity, 0)
  const id = await submit('ply_a')
  await claim()
  // At most ten seconds pass between two polls.
  clock.advance(41_000)
  t.match(await until(async () => (await rowOf(id)).status === 'queued' && rowOf(id)), { attempts: 1, leaseId: null })
  await claim()
  clock.advance(41_000)
  t.match(await until(async () => (await rowOf(id)).status === 'failed' && rowOf(id)), { errorCode: 'worker_lost' })
})

t.test('a job given back runs next and has lost nothing; a cancelled one is over at once', async (t) => {
  const { queue, submit, claim, finish, statusOf } = await open(t)
  const id = await submit('ply_a')
  await submit('ply_a')
  await queue.giveBack(await claim())
  const again = await claim()
  t.match(again.job, { id, attempts: 1 })
  t.equal(await queue.cancel(id), true)
  t.equal(await queue.cancel(id), false)
  t.equal(await finish(again), false)
  t.equal(await statusOf(id), 'cancelled')
})

t.test('the stream of a job that goes on ends when its credential has to be shown again', async (t) => {
  const { app, submit } = await open(t)
  const stream = app.eventStreams.follow(app.blender.stream('ply_a', await submit('ply_a')))
  t.match((await stream.next()).value, 'queued')
  const { now } = performance
  t.teardown(() => Object.assign(performance, { now }))
  performance.now = () => now.call(performance) + SESSION_MS
  t.equal((await stream.next()).done, false, 'once more')
  t.equal((await stream.next()).done, true)
})

t.test('a claim reads no finished job: every statement of it uses an index', async (t) => {
  const { app, submit, claim } = await open(t)
  for (let number = 0; number < 3; number++) await submit(`ply_${number}`)
  const connection = app.db.em().getConnection()
  const { execute } = connection
  const captured = [t.capture(connection, 'execute', execute), t.capture(app.db, 'query', app.db.query)]
  await claim()
  const calls = captured.flatMap((results) => results().map(({ args }) => args as unknown as [string, string[]]))
  for (const results of captured) results.restore()
  const onJobs = calls.filter(([sql]) => /^select .*blender_jobs/s.test(sql))
  t.equal(onJobs.length, 3, 'is one waiting, who is busy, whose turn is it')
  for (const [sql, values] of onJobs) {
    const steps = await app.db.query<{ detail: string }>(`explain query plan ${sql}`, values)
    const plan = steps.map(({ detail }) => detail).join('; ')
    t.match(plan, /^SEARCH \S+ USING .*INDEX \S+ \(status=\?/, plan)
    t.notMatch(plan, /TEMP B-TREE FOR ORDER BY|SCAN/)
  }
})
