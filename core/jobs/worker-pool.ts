import { availableParallelism } from 'node:os'
import { type Transferable, Worker } from 'node:worker_threads'

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
   * The program ends by itself soon after it is sent null. For programs that create zlib streams: terminating a thread
   * while it creates one crashes the whole process (Node 26: "close before init").
   */
  endsItself?: boolean
}

export interface WorkOptions {
  /** Terminates the worker, whatever it does. */
  signal?: AbortSignal | undefined
  /** Buffers of the task to transfer without a copy. */
  transfer?: Transferable[]
  /** Timeout from the moment when a worker takes the task. */
  longestMs?: number
}

/** A task exceeded its time limit. */
export class WorkTookTooLong extends Error {
  override name = 'WorkTookTooLong'
}

/**
 * Runs CPU-bound work in worker threads, which are started when needed and use at most half of the machine's cores. A
 * task can crash only its own thread; the next task gets another thread.
 */
export class WorkerPool<Task, Answer> {
  readonly threads = Math.max(1, Math.floor(availableParallelism() / 2))
  readonly #options: WorkerPoolOptions
  readonly #workers = new Set<Worker>()
  readonly #idle: Worker[] = []
  readonly #waiting: (() => void)[] = []
  /** Number of workers, including those whose program is being loaded. */
  #count = 0
  #closed = false

  constructor(options: WorkerPoolOptions) {
    this.#options = options
  }

  /**
   * @throws WorkTookTooLong after `longestMs`
   * @throws the signal's reason, Node's error when the thread crashes, or an error saying that the process stops
   */
  async run(task: Task, { signal, transfer = [], longestMs }: WorkOptions = {}): Promise<Answer> {
    const worker = await this.#take(signal)
    worker.ref()
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    // When a step before the await fails, the end of the worker rejects this promise without a handler.
    promise.catch(() => {})
    const ended = () => reject(signal?.reason ?? new Error('a worker thread ended before its work'))
    const abort = () => void this.#end(worker)
    const late = () => {
      reject(new WorkTookTooLong(`a worker thread took longer than ${longestMs} ms`))
      void worker.terminate()
    }
    const timer = longestMs === undefined ? undefined : setTimeout(late, longestMs)
    worker.once('message', resolve).once('error', reject).once('exit', ended)
    signal?.addEventListener('abort', abort)
    try {
      signal?.throwIfAborted()
      worker.postMessage(task, transfer)
      const answer = await promise
      // The worker may have finished before it could end.
      signal?.throwIfAborted()
      this.#rest(worker)
      return answer
    } catch (error) {
      // The worker is ending or in an unknown state. Its slot becomes free after its end.
      await this.#end(worker)
      this.#forget(worker)
      throw error
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
      worker.off('message', resolve).off('error', reject).off('exit', ended)
      this.#waiting.shift()?.()
    }
  }

  /** Ends every worker; pending tasks fail. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#workers].map((worker) => this.#end(worker)))
    for (const start of this.#waiting.splice(0)) start()
  }

  async #take(signal: AbortSignal | undefined): Promise<Worker> {
    while (this.#idle.length === 0 && this.#count >= this.threads && !this.#closed) {
      await new Promise<void>((start) => this.#waiting.push(start))
    }
    try {
      signal?.throwIfAborted()
      if (this.#closed) throw new Error('the process stops')
    } catch (error) {
      // The next waiting task gets this turn.
      this.#waiting.shift()?.()
      throw error
    }
    return this.#idle.pop() ?? this.#start()
  }

  async #start(): Promise<Worker> {
    const { name, program, heapMb } = this.#options
    // The count increases before the program is loaded, so that no more workers start meanwhile.
    this.#count++
    try {
      const text = await program()
      if (this.#closed) throw new Error('the process stops')
      const resourceLimits = heapMb === undefined ? {} : { maxOldGenerationSizeMb: heapMb }
      const worker = new Worker(text, { eval: true, name, resourceLimits })
      // A later task notices that an idle worker has failed.
      worker.on('error', () => {})
      this.#workers.add(worker)
      return worker
    } catch (error) {
      this.#count--
      this.#waiting.shift()?.()
      throw error
    }
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
      this.#forget(worker)
      void this.#end(worker)
    }, this.#options.idleMs).unref()
  }

  /** Resolves once the thread has ended. */
  async #end(worker: Worker): Promise<void> {
    if (!this.#options.endsItself) {
      await worker.terminate()
      return
    }
    // A thread that has ended emits no further `exit` event.
    if (worker.threadId === -1) return
    const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
    worker.ref()
    worker.postMessage(null)
    await ended
  }

  #forget(worker: Worker): void {
    if (this.#workers.delete(worker)) this.#count--
  }
}
