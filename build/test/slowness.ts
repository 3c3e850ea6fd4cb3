import { availableParallelism } from 'node:os'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'

/** What both loops take on an idle machine of the usual kind (2 cores), in milliseconds. */
const USUAL_MS = 280
const ROUNDS = 16_000
/** Virtual machines that compute equally fast differ tenfold in how long fresh memory takes. */
const [BUFFERS, BUFFER_BYTES] = [5, 40 * 1024 ** 2]
const RECORDS = JSON.stringify(Array.from({ length: 40 }, (_, id) => ({ id, title: `Game ${id}`, tags: ['a', 'b'] })))

/**
 * Measures how many times slower this machine computes now than an idle one of the usual kind: it parses a text and
 * fills fresh memory, on every core at once, so that other work on them counts too. Tests multiply their time limits by it (test/kit/time-limit.ts).
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
  for (let at = 0; at < BUFFERS; at++) new Uint8Array(BUFFER_BYTES).fill(1)
  parentPort?.postMessage(performance.now() - startedAt)
}
