/**
 * A process that runs test files one after the other, so that the platform's modules are imported once a process
 * instead of once a file. Each file's `import t from 'tap'` is a subtest of this process's root test, so a file is
 * written in the same way whether it runs here or alone (`npx tap run FILE`).
 */
import { readdirSync, readFileSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import tap, { type Test } from 'tap'
import { runsInWorker, runWorkerEnd } from '../../test/kit/process-end.ts'
import { timeLimit } from '../../test/kit/time-limit.ts'
import { describeFailure, type Result } from './failures.ts'
import type { Counts, Order, Outcome, Report } from './messages.ts'

const root = join(import.meta.dirname, '../..')
/**
 * A file's time limit unless it sets another by `t.setTimeout`; `.taprc` has the same limit for the short form. It
 * detects files that hang. It is no performance requirement, because machines differ in speed.
 */
const TIME_LIMIT_MS = timeLimit(process.env.TEST_EXTENT === 'all' ? 1200 : 480)
const ALIVE_EVERY_MS = 10_000
/** The unit of CPU times in /proc (`getconf CLK_TCK`), which is 100 on every current Linux. */
const TICKS_A_SECOND = 100

/** The test that represents the running file. */
let running: Test | undefined

/** Represents the running file for modules that several files share, such as a conformance suite. */
const ofRunningFile = new Proxy({} as Test, {
  get(_target, key) {
    if (!running) throw new Error(`t.${String(key)} was used while no test file ran.`)
    const value = Reflect.get(running, key, running)
    return typeof value === 'function' ? value.bind(running) : value
  },
  set: (_target, key, value) => running !== undefined && Reflect.set(running, key, value, running),
})

// This is what `import t from 'tap'` returns in a test file (module-hooks.ts).
Object.assign(globalThis, { tapOfRunningFile: ofRunningFile })

async function run(file: string): Promise<Outcome> {
  const counts: Counts = { passed: 0, failed: 0, skipped: 0 }
  const failures: string[] = []
  const skips: string[] = []
  let timedOut = false
  const startedAt = performance.now()
  const processorBefore = processorSeconds()
  await tap.test(file, { timeout: TIME_LIMIT_MS }, async (t) => {
    t.parser.on('result', (result: Result) => {
      if (result.skip || result.todo) {
        counts.skipped++
        skips.push(String(result.skip || result.todo))
      } else if (result.ok) counts.passed++
      else {
        counts.failed++
        failures.push(describeFailure(file, result))
      }
    })
    t.on('timeout', () => {
      timedOut = true
    })
    running = t
    await import(pathToFileURL(join(root, file)).href)
  })
  running = undefined
  // Node would store the compiled code when this process ends, too late for the processes that tests start.
  flushCompileCache()
  const seconds = (performance.now() - startedAt) / 1000
  const processorAfter = processorSeconds()
  const spent = processorBefore === null || processorAfter === null ? null : processorAfter - processorBefore
  return { file, counts, failures, skips, seconds, processorSeconds: spent, timedOut }
}

/**
 * Returns the CPU time of this process and its descendants: those that have ended, and those that files share, such as
 * a browser. A process that outlives its parent does not count.
 */
function processorSeconds(): number | null {
  if (process.platform !== 'linux') return null
  const children = new Map<number, { pid: number; ticks: number }[]>()
  for (const pid of readdirSync('/proc').map(Number)) {
    const one = Number.isInteger(pid) ? statOf(pid) : null
    if (one) children.set(one.parent, [...(children.get(one.parent) ?? []), { pid, ticks: one.ticks }])
  }
  const below = (pid: number): number =>
    (children.get(pid) ?? []).reduce((sum, child) => sum + child.ticks + below(child.pid), 0)
  return ((statOf(process.pid)?.ticks ?? 0) + below(process.pid)) / TICKS_A_SECOND
}

/** Returns the parent of a process, and the CPU time of it and its ended children; null when it no longer exists. */
function statOf(pid: number): { parent: number; ticks: number } | null {
  try {
    // The format is `pid (name) state ppid …`. The name may contain any character, so parsing starts after it.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
      .map(Number)
    const [utime = 0, stime = 0, cutime = 0, cstime = 0] = fields.slice(11, 15)
    return { parent: fields[1] ?? 0, ticks: utime + stime + cutime + cstime }
  } catch {
    return null
  }
}

const report = (message: Report) => new Promise((sent) => process.send?.(message, sent))

function main() {
  runsInWorker()
  // When tap has a pipe, it does not touch standard output and the exit code.
  tap.pipe(new Writable({ write: (_chunk, _encoding, done) => done() }) as never)
  // An uncaught error makes the running file fail.
  process.on('uncaughtException', (error) => {
    if (running) running.threw(error)
    else console.error(error)
  })
  setInterval(() => report('alive'), ALIVE_EVERY_MS).unref()
  const end = async () => {
    await runWorkerEnd()
    process.exit()
  }
  process.on('message', async ({ file }: Order) => {
    if (file === null) return end()
    await report(await run(file))
  })
  process.on('disconnect', end)
}

main()
