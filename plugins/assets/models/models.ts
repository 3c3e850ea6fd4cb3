import { WorkerPool, WorkTookTooLong } from '../../../core/jobs/worker-pool.ts'
import type { WorkerPrograms } from '../../../core/jobs/worker-programs.ts'
import { InvalidModel, ModelTooCostly } from '../errors.ts'
import type { ModelAnswer, ModelResults, ModelTask } from './worker-messages.ts'

const IDLE_MS = 10_000
/**
 * The most processor time of a task, in milliseconds. A file that takes longer is refused. One of 100 MiB takes 2 s to
 * inspect, 4 s to draw and 8 s to simplify.
 */
const LONGEST_MS: Record<ModelTask['task'], number> = {
  inspect: 30_000,
  embed: 45_000,
  repair: 30_000,
  draw: 15_000,
  simplify: 60_000,
  animate: 30_000,
}
const HEAP_MB = 1536

/**
 * Runs all code that reads models in worker threads. Models are untrusted: their cost, or a crash, stays in the thread.
 */
export class Models {
  readonly #pool: WorkerPool<ModelTask, ModelAnswer>

  constructor(programs: WorkerPrograms) {
    const program = () => programs.text('models')
    this.#pool = new WorkerPool({ name: 'models', program, idleMs: IDLE_MS, heapMb: HEAP_MB, interactiveThreads: 2 })
  }

  /**
   * @param by the player who causes the work, and whether nobody waits for it
   * @throws InvalidModel when the file is invalid
   * @throws when the signal is aborted or the process stops
   */
  async run<Task extends ModelTask>(
    task: Task,
    by: { owner: string; background?: boolean; signal?: AbortSignal | undefined },
  ): Promise<ModelResults[Task['task']]> {
    const longestMs = LONGEST_MS[task.task]
    const answer = await this.#pool.run(task, { ...by, longestMs }).catch((error) => {
      if (error instanceof WorkTookTooLong) {
        throw new ModelTooCostly(`it takes longer to read than ${longestMs / 1000} seconds, the most for a model.`)
      }
      if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') throw new ModelTooCostly('it takes too much memory.')
      throw error
    })
    if ('result' in answer) return answer.result as ModelResults[Task['task']]
    if ('failure' in answer) throw new Error(answer.failure)
    throw new InvalidModel(answer.refusal.message).with({ details: answer.refusal.details })
  }

  close(): Promise<void> {
    return this.#pool.close()
  }
}
