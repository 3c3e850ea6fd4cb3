import { createHash } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'

/** What the loop takes on an idle machine of the usual kind (2 cores of about 3 GHz), in milliseconds. */
const USUAL_MS = 150
const ROUNDS = 60
const BLOCK = Buffer.alloc(1 << 20)

/**
 * Measures how many times slower this machine computes now than an idle one of the usual kind: a fixed loop, on every
 * core at once, so that other work on them counts too. Tests multiply their time limits by it (test/kit/time-limit.ts).
 *
 * @returns 1 to 8
 */
export async function measureSlowness(): Promise<number> {
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: availableParallelism() }, loopOnOneCore))
  const times = (performance.now() - startedAt) / USUAL_MS
  return Math.min(8, Math.max(1, Number(times.toFixed(1))))
}

function loopOnOneCore(): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url))
    worker.once('message', resolve).once('error', reject)
  })
}

if (!isMainThread) {
  for (let round = 0; round < ROUNDS; round++) createHash('sha256').update(BLOCK).digest()
  parentPort?.postMessage(null)
}
