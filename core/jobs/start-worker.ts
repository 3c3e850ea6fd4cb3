import { once } from 'node:events'
import { Worker, type WorkerOptions } from 'node:worker_threads'
import { defineError } from '../errors.ts'

/** The seconds after which a client may try again. */
const RETRY_SECONDS = '5'

/** No thread can be started, and the work that needs one has not begun. It may be repeated. */
export const ThreadsExhausted = defineError(
  'threads_exhausted',
  503,
  'The server can’t start another thread now. Try again in a few seconds.',
)

/** What keeps this process from starting threads. */
export interface ThreadState {
  /** The system refused the last one: the limit of a control group (`TasksMax`, `pids.max`) or of the user is reached. */
  exhausted: boolean
  /** The memory of the control group is nearly in use, so that another thread could end the whole process. */
  memoryShort: boolean
}

export const threadState: ThreadState = { exhausted: false, memoryShort: false }

/**
 * Starts a worker thread from the text of its program.
 *
 * @throws ThreadsExhausted
 */
export function startWorker(program: string, options: WorkerOptions): Worker {
  if (threadState.memoryShort) throw refusal()
  try {
    return new Worker(program, { ...options, eval: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_WORKER_INIT_FAILED') throw error
    threadState.exhausted = true
    throw refusal(error)
  }
}

/** Starts a thread that ends at once, and records in `threadState` whether that was possible. */
export async function probeThreads(): Promise<void> {
  try {
    await once(new Worker('', { eval: true, env: {}, stdin: false }), 'exit')
    threadState.exhausted = false
  } catch {
    threadState.exhausted = true
  }
}

const refusal = (cause?: unknown) => new ThreadsExhausted().with({ headers: { 'retry-after': RETRY_SECONDS }, cause })
