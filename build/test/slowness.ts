import { availableParallelism } from 'node:os'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'

/** What the loop takes on an idle machine of the usual kind (2 cores), in milliseconds. */
const USUAL_MS = 200
const ROUNDS = 16_000
const RECORDS = JSON.stringify(Array.from({ length: 40 }, (_, id) => ({ id, title: `Game ${id}`, tags: ['a', 'b'] })))

/**
 * Measures how many times slower this machine computes now than an idle one of the usual kind: a fixed loop, on every
 * core at once, so that other work on them counts too. Tests multiply their time limits by it (test/kit/time-limit.ts).
 *
 * @returns 1 to 8
 */
export async function measureSlowness(): Promise<number> {
  const times = await Promise.all(Array.from({ length: availableParallelism() }, loopOnOneCore))
  return Math.min(8, Math.max(1, Number((Math.max(...times) / USUAL_MS).toFixed(1))))
}

/** @returns how long it took, in milliseconds */
function loopOnOneCore(): Promise<number> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url))
    worker.once('message', resolve).once('error', reject)
  })
}

if (!isMainThread) {
  const startedAt = performance.now()
  for (let round = 0; round < ROUNDS; round++) JSON.parse(RECORDS)
  parentPort?.postMessage(performance.now() - startedAt)
}
