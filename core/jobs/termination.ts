import { isMainThread, type Worker, workerData } from 'node:worker_threads'

// Terminating a thread while it creates a zlib stream crashes the whole process (Node 26: "close before init"). Both
// sides agree by two numbers of shared memory: whether the thread may not be terminated now, and whether it will be.
const HELD = 0
const ENDING = 1

/** Creates the shared numbers, for the `workerData` of a thread. */
export const newTerminationGate = (): Int32Array<SharedArrayBuffer> => new Int32Array(new SharedArrayBuffer(8))

/** Terminates a thread, after the `withoutTermination` in which it is. Resolves once it has ended. */
export async function terminate(worker: Worker, gate: Int32Array<SharedArrayBuffer>): Promise<void> {
  Atomics.store(gate, ENDING, 1)
  const free = Atomics.waitAsync(gate, HELD, 1)
  if (free.async) {
    const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
    // A thread that has ended emits no further `exit` event.
    if (worker.threadId !== -1) await Promise.race([free.value, ended])
  }
  await worker.terminate()
}

/**
 * Runs synchronous work of a worker thread which must not be terminated meanwhile, since it creates zlib streams. So the
 * work must be short, or bounded by itself.
 */
export function withoutTermination<Result>(work: () => Result): Result {
  const gate = (isMainThread ? null : workerData?.terminationGate) as Int32Array<SharedArrayBuffer> | null
  if (!gate) return work()
  Atomics.store(gate, HELD, 1)
  if (Atomics.load(gate, ENDING) === 1) {
    release(gate)
    // Until the thread is terminated.
    Atomics.wait(gate, ENDING, 1)
  }
  try {
    return work()
  } finally {
    release(gate)
  }
}

function release(gate: Int32Array<SharedArrayBuffer>): void {
  Atomics.store(gate, HELD, 0)
  Atomics.notify(gate, HELD)
}
