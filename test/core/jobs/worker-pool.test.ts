import { join } from 'node:path'
import { build } from 'esbuild'
import t, { type Test } from 'tap'
import { WorkerPool, WorkTookTooLong } from '../../../core/jobs/worker-pool.ts'
import { inFull } from '../../kit/extent.ts'

/** Answers `{ thread }` after `busyMs` of work, or fails as requested. */
const PROGRAM = `
const { parentPort, threadId } = require('node:worker_threads')
parentPort.on('message', ({ busyMs = 0, idleMs, fail, grow }) => {
  if (idleMs) return setTimeout(() => parentPort.postMessage({ thread: threadId }), idleMs)
  if (fail) throw new Error(fail)
  const kept = []
  while (grow) kept.push(new Array(1e6).fill({}))
  const end = Date.now() + busyMs
  while (Date.now() < end);
  parentPort.postMessage({ thread: threadId })
})`

interface Task {
  busyMs?: number
  idleMs?: number
  fail?: string
  grow?: boolean
}

function poolOf(
  t: Test,
  { idleMs = 60_000, program = async () => PROGRAM, endsItself = false, interactiveThreads = 0 } = {},
) {
  const options = { name: 'test', program, idleMs, heapMb: 64, endsItself, interactiveThreads }
  const pool = new WorkerPool<Task, { thread: number }>(options)
  t.teardown(() => pool.close())
  return pool
}

t.test('tasks share a few threads, which are used again', async (t) => {
  const pool = poolOf(t)
  const answers = await Promise.all(Array.from({ length: 20 }, () => pool.run({ busyMs: 5 })))
  const threads = new Set(answers.map(({ thread }) => thread))
  t.ok(threads.size >= 1 && threads.size <= pool.threads, `${threads.size} of ${pool.threads}`)
})

t.test('what one task breaks, the next does not see', async (t) => {
  const pool = poolOf(t)
  const abort = new AbortController()
  await t.rejects(pool.run({ fail: 'broken' }), { message: 'broken' })
  await t.rejects(pool.run({ grow: true }), { code: 'ERR_WORKER_OUT_OF_MEMORY' })
  await t.rejects(pool.run({ busyMs: 600_000 }, { longestMs: 100 }), WorkTookTooLong)
  setTimeout(() => abort.abort(new Error('nobody wants it any more')), 100)
  await t.rejects(pool.run({ busyMs: 600_000 }, { signal: abort.signal }), { message: 'nobody wants it any more' })
  await t.rejects(pool.run({}, { signal: abort.signal }), { message: 'nobody wants it any more' })
  t.ok((await pool.run({})).thread)
})

t.test('a limit is one of processor time, and a thread that only waits ends much later', async (t) => {
  const pool = poolOf(t, { interactiveThreads: 1 })
  await pool.run({})
  t.ok((await pool.run({ idleMs: 600 }, { longestMs: 300 })).thread)
  await t.rejects(pool.run({ idleMs: 600_000 }, { longestMs: 30 }), WorkTookTooLong)
  const abort = new AbortController()
  const waiting = pool.run({ idleMs: 600_000 }, { longestMs: 600, signal: abort.signal }).catch(() => 'waiting')
  const busy = pool.run({ busyMs: 600_000 }, { longestMs: 700 }).catch(() => 'busy')
  t.equal(await Promise.race([waiting, busy]), 'busy', 'long before ten times the limit')
  abort.abort()
  await waiting
})

t.test('all background tasks leave a thread for work that somebody waits for', async (t) => {
  const pool = poolOf(t, { interactiveThreads: 1 })
  const abort = new AbortController()
  const options = { background: true, signal: abort.signal }
  const busy = Array.from({ length: pool.threads + 1 }, () => pool.run({ busyMs: 600_000 }, options))
  const ends = Promise.allSettled(busy)
  t.ok((await pool.run({})).thread)
  abort.abort(new Error('done'))
  t.strictSame([...new Set((await ends).map(({ status }) => status))], ['rejected'])
})

t.test('who gives up while waiting passes the turn on', async (t) => {
  const pool = poolOf(t)
  const abort = new AbortController()
  const busy = Array.from({ length: pool.threads }, () => pool.run({ busyMs: 200 }))
  const given = pool.run({}, { signal: abort.signal })
  const next = Array.from({ length: 3 }, () => pool.run({}))
  abort.abort(new Error('given up'))
  await t.rejects(given, { message: 'given up' })
  t.equal((await Promise.all([...busy, ...next])).length, pool.threads + 3)
})

t.test('a task that cannot be sent, or was given up before it began, fails alone', async (t) => {
  const pool = poolOf(t)
  const abort = new AbortController()
  const program = async () => {
    abort.abort(new Error('given up'))
    return PROGRAM
  }
  await t.rejects(poolOf(t, { program }).run({}, { signal: abort.signal }), { message: 'given up' })
  await t.rejects(pool.run({ fail: (() => {}) as unknown as string }), { name: 'DataCloneError' })
  t.ok((await pool.run({})).thread)
})

t.test('a thread that nobody needs ends', async (t) => {
  const pool = poolOf(t, { idleMs: 1 })
  const { thread } = await pool.run({})
  await new Promise((resolve) => setTimeout(resolve, 50))
  t.not((await pool.run({})).thread, thread)
})

t.test('a program that cannot be read fails its task, and takes no place', async (t) => {
  let readable = false
  const program = async () => {
    if (!readable) throw new Error('no such program')
    return PROGRAM
  }
  const pool = poolOf(t, { program })
  for (let i = 0; i < pool.threads + 2; i++) await t.rejects(pool.run({}), { message: 'no such program' })
  readable = true
  t.ok((await pool.run({})).thread)
})

t.test('closing ends what is at work and what waits', async (t) => {
  const pool = poolOf(t)
  const works = Array.from({ length: pool.threads + 2 }, () => pool.run({ busyMs: 600_000 }))
  const ends = Promise.allSettled(works)
  await new Promise((resolve) => setTimeout(resolve, 100))
  await pool.close()
  t.strictSame([...new Set((await ends).map(({ status }) => status))], ['rejected'])
  await t.rejects(pool.run({}), { message: 'the process stops' })
})

t.test('a program that ends itself is asked to, does what it is at, and what came of that is not wanted', async (t) => {
  const program = async () =>
    `require('node:worker_threads').parentPort.on('message', (task) => { if (task === null) process.exit() })\n${PROGRAM}`
  const pool = poolOf(t, { program, endsItself: true })
  const abort = new AbortController()
  await pool.run({})
  const given = pool.run({ busyMs: 300 }, { signal: abort.signal })
  setTimeout(() => abort.abort(new Error('nobody wants it any more')), 50)
  await t.rejects(given, { message: 'nobody wants it any more' })
  await t.rejects(pool.run({ fail: 'broken' }), { message: 'broken' }, 'one that breaks is not waited for')
  t.ok((await pool.run({})).thread, 'and another takes its place')
  const last = pool.run({ busyMs: 300 }).catch((error) => error)
  await pool.close()
  t.ok(await last)
  await t.rejects(pool.run({}), { message: 'the process stops' })
})

/** Bundles a program that may use the project's modules. */
async function bundled(contents: string): Promise<() => Promise<string>> {
  const stdin = { contents, resolveDir: join(import.meta.dirname, '../../..') }
  const { outputFiles } = await build({ stdin, bundle: true, write: false, platform: 'node', format: 'cjs' })
  return async () => outputFiles[0]?.text ?? ''
}

t.test('a thread is not terminated within work that forbids it', async (t) => {
  const program = await bundled(`
    import { parentPort } from 'node:worker_threads'
    import { withoutTermination } from './core/jobs/termination.ts'
    parentPort.on('message', (steps) => {
      withoutTermination(() => {
        Atomics.store(steps, 0, 1)
        Atomics.notify(steps, 0)
        for (const end = Date.now() + 200; Date.now() < end; );
        Atomics.store(steps, 0, 2)
      })
      withoutTermination(() => Atomics.store(steps, 0, 3))
      parentPort.postMessage('done')
    })`)
  const pool = new WorkerPool<Int32Array, string>({ name: 'test', program, idleMs: 60_000 })
  t.teardown(() => pool.close())
  const steps = new Int32Array(new SharedArrayBuffer(4))
  const abort = new AbortController()
  const run = pool.run(steps, { signal: abort.signal })
  await Atomics.waitAsync(steps, 0, 0).value
  abort.abort(new Error('nobody wants it any more'))
  await t.rejects(run, { message: 'nobody wants it any more' })
  t.equal(steps[0], 2, 'the work is complete, and the next did not begin')
})

inFull(t)?.test('a thread that creates zlib streams can be terminated at any time', async (t) => {
  const program = await bundled(`
    import { inflateSync, deflateSync } from 'node:zlib'
    import { parentPort } from 'node:worker_threads'
    import { withoutTermination } from './core/jobs/termination.ts'
    const packed = deflateSync(Buffer.alloc(100))
    parentPort.on('message', () => { for (;;) withoutTermination(() => inflateSync(packed)) })`)
  const pool = poolOf(t, { program })
  for (let round = 0; round < 300; round++) await t.rejects(pool.run({}, { longestMs: 20 }), WorkTookTooLong)
})
