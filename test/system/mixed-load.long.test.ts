// In a process of its own: it looks at a server's memory for minutes.
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { descriptorsOf, MixedLoad, residentMb } from '../../bench/mixed-load.ts'
import { amount } from '../kit/extent.ts'
import { startServer } from '../kit/server.ts'

const SECONDS = amount(30, 300)
/** Operations a second: few, since other tests run beside this one. */
const RATE = 40
const REST_MS = 60_000

// Five minutes, where bench/soak.ts has an hour: V8 collects old objects only every few minutes at this rate, so the
// thirds may lie further apart here.
const MOST_GROWTH = 1.15
const MOST_AFTER_REST = 2

t.test('minutes of mixed load leave memory and descriptors as they were', async (t) => {
  const { portal, process } = await startServer(t, {
    config: { limits: { rateLimits: false }, blender: { driver: 'none' } },
  })
  const pid = process.pid as number
  // A server's first seconds are the start's: what it keeps of them goes when it is at rest.
  await sleep(10_000)
  const idle = { memory: residentMb(pid), descriptors: descriptorsOf(pid) }
  const load = new MixedLoad(portal)
  await load.begin()
  const memory: number[] = []
  const running = new AbortController()
  const watched = watch(pid, memory, running.signal)
  await load.run(RATE, SECONDS * 1000)
  running.abort()
  await watched
  for (const [kind, done] of Object.entries(load.counts)) t.ok(done > 0, `${done} times ${kind}`)

  const third = Math.floor(memory.length / 3)
  const [, middle, last] = [0, 1, 2].map((part) => medianOf(memory.slice(part * third, (part + 1) * third)))
  t.ok(middle && last && last <= middle * MOST_GROWTH, `${last} MB in the last third, ${middle} in the middle one`)

  await sleep(REST_MS)
  const rested = residentMb(pid)
  t.ok(rested <= idle.memory * MOST_AFTER_REST, `${rested} MB after a minute, ${idle.memory} before`)
  const open = descriptorsOf(pid)
  t.ok(open <= idle.descriptors + 10, `${open} descriptors after a minute, ${idle.descriptors} before`)
})

/** Adds the resident memory, in MB, once a second until it is aborted. */
async function watch(pid: number, memory: number[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    memory.push(residentMb(pid))
    await sleep(1000, undefined, { signal }).catch(() => {})
  }
}

const medianOf = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
