import { availableParallelism } from 'node:os'
import type { Transferable, Worker } from 'node:worker_threads'
import { startWorker } from './start-worker.ts'
import { TaskQueue } from './task-queue.ts'
import { newTerminationGate, terminate } from './termination.ts'

export interface WorkerPoolOptions {
  /** The name of the threads in debuggers and crash reports. */
  name: string
  /**
   * Loads the threads' program (see `core/jobs/worker-programs.ts`), which answers each message with exactly one
   * message.
   */
  program: () => Promise<string>
  /** A worker that is idle for this long ends and releases its memory. */
  idleMs: number
  /** Heap limit of a thread in MiB. Exceeding it ends the thread, not the process. */
  heapMb?: number
  /**
   * The program ends by itself soon after it is sent null. For programs that create zlib streams at any time; one that
   * creates them in short synchronous work uses `withoutTermination` instead (termination.ts).
   */
  endsItself?: boolean
  /**
   * More threads for work that somebody waits for. With two of them a player whose tasks take long, one in the background
   * and one not, leaves a thread to others.
   */
  interactiveThreads?: number
}

export interface WorkOptions {
  /** Terminates the worker, whatever it does. */
  signal?: AbortSignal | undefined
  /** Buffers of the task to transfer without a copy. */
  transfer?: Transferable[]
  /**
   * Limit of the worker's processor time in milliseconds, from the moment when it takes the task. So a busy machine
   * refuses nothing that an idle one would do. A worker that waits ends after ten times as long.
   */
  longestMs?: number
  /** The cause of the work, such as the id of a player. An owner has one running task, and one in the background. */
  owner?: string | undefined
  /** Nobody waits for the result, so every other task goes first. */
  background?: boolean
}

/** A task exceeded its time limit. */
export class WorkTookTooLong extends Error {
  override name = 'WorkTookTooLong'
}

/** A worker is ended in any case after this multiple of its limit of processor time. */
const ELAPSED_TIMES = 10

/**
 * Runs CPU-bound work in worker threads, which are started when needed and use at most half of the machine's cores. A
 * task can crash only its own thread; the next task gets another thread.
 *
 * Work that somebody waits for precedes background work. Owners take turns, so nobody's many tasks delay those of others.
 */
export class WorkerPool<Task, Answer> {
  readonly threads = Math.max(1, Math.floor(availableParallelism() / 2))
  readonly #options: WorkerPoolOptions
  readonly #workers = new Map<Worker, ReturnType<typeof newTerminationGate>>()
  readonly #idle: Worker[] = []
  readonly #queue: TaskQueue
  #closed = false

  constructor(options: WorkerPoolOptions) {
    this.#options = options
    const interactive = this.threads + (options.interactiveThreads ?? 0)
    this.#queue = new TaskQueue({ background: this.threads, interactive })
  }

  /**
   * @throws WorkTookTooLong after `longestMs`
   * @throws ThreadsExhausted when no thread can be started
   * @throws the signal's reason, Node's error when the thread crashes, or an error saying that the process stops
   */
  async run(task: Task, { owner, background = false, ...options }: WorkOptions = {}): Promise<Answer> {
    const { signal } = options
    const turn = await this.#queue.take({ owner, background }, signal)
    try {
      if (this.#closed) throw new Error('the process stops')
      return await this.#perform(this.#idle.pop() ?? (await this.#start()), task, options)
    } finally {
      turn.end()
    }
  }

  /** Ends every worker; pending tasks fail. */
  async close(): Promise<void> {
    this.#closed = true
    this.#queue.close(new Error('the process stops'))
    await Promise.all([...this.#workers.keys()].map((worker) => this.#end(worker)))
  }

  async #perform(
    worker: Worker,
    task: Task,
    { signal, transfer = [], longestMs }: Omit<WorkOptions, 'owner' | 'background'>,
  ): Promise<Answer> {
    worker.ref()
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    // When a step before the await fails, the end of the worker rejects this promise without a handler.
    promise.catch(() => {})
    const ended = () => reject(signal?.reason ?? new Error('a worker thread ended before its work'))
    const abort = () => void this.#end(worker)
    worker.once('message', resolve).once('error', reject).once('exit', ended)
    signal?.addEventListener('abort', abort)
    let stopTimer = () => {}
    try {
      signal?.throwIfAborted()
      if (longestMs !== undefined) {
        stopTimer = limitProcessorTime(worker, longestMs, () => {
          reject(new WorkTookTooLong(`a worker thread took longer than ${longestMs} ms`))
          void this.#terminate(worker)
        })
      }
      worker.postMessage(task, transfer)
      const answer = await promise
      // The worker may have finished before it could end.
      signal?.throwIfAborted()
      this.#rest(worker)
      return answer
    } catch (error) {
      // The worker is ending or in an unknown state. Its slot becomes free after its end.
      await this.#end(worker)
      this.#workers.delete(worker)
      throw error
    } finally {
      stopTimer()
      signal?.removeEventListener('abort', abort)
      worker.off('message', resolve).off('error', reject).off('exit', ended)
    }
  }

  async #start(): Promise<Worker> {
    const { name, program, heapMb } = this.#options
    const text = await program()
    if (this.#closed) throw new Error('the process stops')
    const resourceLimits = heapMb === undefined ? {} : { maxOldGenerationSizeMb: heapMb }
    const terminationGate = newTerminationGate()
    const worker = startWorker(text, { name, resourceLimits, workerData: { terminationGate } })
    // A later task notices that an idle worker has failed.
    worker.on('error', () => {})
    this.#workers.set(worker, terminationGate)
    return worker
  }

  #rest(worker: Worker): void {
    if (this.#closed) return
    // A busy worker keeps the process alive; an idle one does not.
    worker.unref()
    this.#idle.push(worker)
    setTimeout(() => {
      const at = this.#idle.indexOf(worker)
      if (at === -1) return
      this.#idle.splice(at, 1)
      void this.#end(worker).finally(() => this.#workers.delete(worker))
    }, this.#options.idleMs).unref()
  }

  async #terminate(worker: Worker): Promise<void> {
    const gate = this.#workers.get(worker)
    if (gate) await terminate(worker, gate)
  }

  /** Resolves once the thread has ended. */
  async #end(worker: Worker): Promise<void> {
    if (!this.#options.endsItself) {
      await this.#terminate(worker)
      return
    }
    // A thread that has ended emits no further `exit` event.
    if (worker.threadId === -1) return
    const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
    worker.ref()
    worker.postMessage(null)
    await ended
  }
}

/** Calls `end` once a worker has used so much processor time. @returns a function that stops the observation */
function limitProcessorTime(worker: Worker, limitMs: number, end: () => void): () => void {
  const before = processorMs(worker)
  let timer: NodeJS.Timeout
  let stopped = false
  const check = async () => {
    const left = limitMs - ((await processorMs(worker)) - (await before))
    if (stopped) return
    if (left <= 0) end()
    else timer = setTimeout(check, Math.max(left, 10))
  }
  timer = setTimeout(check, limitMs)
  const last = setTimeout(end, limitMs * ELAPSED_TIMES)
  return () => {
    stopped = true
    clearTimeout(timer)
    clearTimeout(last)
  }
}

/** Returns the processor time of a worker so far; 0 for one that has ended. */
async function processorMs(worker: Worker): Promise<number> {
  const { user, system } = await worker.cpuUsage().catch(() => ({ user: 0, system: 0 }))
  return (user + system) / 1000
}
