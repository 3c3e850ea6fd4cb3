import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { WorkerPrograms } from '../../../core/worker-programs.ts'
import { InvalidModel } from '../errors.ts'
import type { ModelAnswer, ModelResults, ModelTask } from './tasks.ts'

/** A worker that nobody needed for so long ends, and gives its memory back. */
const IDLE_MS = 10_000
/** A file that keeps a thread busy for longer is refused. */
const LONGEST_MS = 120_000
/** Of JavaScript objects, in MiB; beyond it the thread ends, and the process does not. */
const HEAP_MB = 1536

/**
 * Everything that reads models, in worker threads: half of the machine's cores at most, started when needed. Strangers
 * made these files; what one of them costs or breaks stays in its thread.
 */
export class Models {
  readonly threads = Math.max(1, Math.floor(availableParallelism() / 2))
  readonly #programs: WorkerPrograms
  readonly #workers = new Set<Worker>()
  readonly #idle: Worker[] = []
  readonly #waiting: (() => void)[] = []
  #count = 0
  #closed = false

  constructor(programs: WorkerPrograms) {
    this.#programs = programs
  }

  /**
   * @throws InvalidModel when the file is at fault
   * @throws when the signal is aborted or the process stops
   */
  async run<Task extends ModelTask>(task: Task, signal?: AbortSignal): Promise<ModelResults[Task['task']]> {
    const worker = await this.#take(signal)
    const { promise, resolve, reject } = Promise.withResolvers<ModelAnswer>()
    const ended = () => reject(signal?.reason ?? new Error('a worker thread ended before its work'))
    const failed = (error: NodeJS.ErrnoException) =>
      reject(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? new InvalidModel('it takes too much memory.') : error)
    const late = setTimeout(() => {
      reject(new InvalidModel('it takes too long to read.'))
      void worker.terminate()
    }, LONGEST_MS)
    const abort = () => void worker.terminate()
    worker.once('message', resolve).once('error', failed).once('exit', ended)
    signal?.addEventListener('abort', abort)
    try {
      signal?.throwIfAborted()
      worker.postMessage(task)
      const answer = await promise
      if ('result' in answer) return answer.result as ModelResults[Task['task']]
      if ('failure' in answer) throw new Error(answer.failure)
      throw new InvalidModel(answer.refusal.message).with({ details: answer.refusal.details })
    } finally {
      clearTimeout(late)
      signal?.removeEventListener('abort', abort)
      worker.off('message', resolve).off('error', failed).off('exit', ended)
      this.#release(worker)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#workers].map((worker) => worker.terminate()))
    for (const start of this.#waiting.splice(0)) start()
  }

  async #take(signal: AbortSignal | undefined): Promise<Worker> {
    while (this.#idle.length === 0 && this.#count >= this.threads) {
      await new Promise<void>((start) => this.#waiting.push(start))
    }
    signal?.throwIfAborted()
    if (this.#closed) throw new Error('the process stops')
    return this.#idle.pop() ?? this.#start()
  }

  async #start(): Promise<Worker> {
    // Counted before the program is read, so that no more are started meanwhile.
    this.#count++
    try {
      const program = await this.#programs.text('models')
      if (this.#closed) throw new Error('the process stops')
      const limits = { maxOldGenerationSizeMb: HEAP_MB }
      const worker = new Worker(program, { eval: true, name: 'models', resourceLimits: limits })
      worker.unref()
      // One that breaks while it has nothing to do is found by the next that needs one.
      worker.on('error', () => {})
      this.#workers.add(worker)
      return worker
    } catch (error) {
      this.#count--
      this.#waiting.shift()?.()
      throw error
    }
  }

  #release(worker: Worker): void {
    // -1 is the id of a thread that has ended.
    if (worker.threadId === -1 || this.#closed) this.#forget(worker)
    else this.#rest(worker)
    this.#waiting.shift()?.()
  }

  #rest(worker: Worker): void {
    this.#idle.push(worker)
    setTimeout(() => {
      const at = this.#idle.indexOf(worker)
      if (at === -1) return
      this.#idle.splice(at, 1)
      this.#forget(worker)
      void worker.terminate()
    }, IDLE_MS).unref()
  }

  #forget(worker: Worker): void {
    if (this.#workers.delete(worker)) this.#count--
  }
}
