import { RateLimited } from '../../../core/errors.ts'

const RETRY_SECONDS = 5

export interface QueueLimits {
  /** The number of tasks that run at once. */
  atOnce: number
  /** The number of waiting tasks of one caller. */
  perCaller: number
  /** The number of waiting tasks of all callers. */
  waiting: number
}

interface Waiting {
  start(): void
  refuse(error: Error): void
}

/**
 * Runs few tasks at once, and starts those of different callers in turn, so that a caller with many tasks delays
 * another one by a single task.
 */
export class FairQueue {
  readonly #limits: QueueLimits
  #running = 0
  #count = 0
  /** The waiting tasks by caller, in the order of the callers' turns. */
  readonly #waiting = new Map<string, Waiting[]>()

  constructor(limits: QueueLimits) {
    this.#limits = limits
  }

  /** @throws RateLimited when too many tasks wait, of this caller or of all; it takes the caller with the most first */
  async run<T>(caller: string, task: () => Promise<T>): Promise<T> {
    if (this.#running < this.#limits.atOnce) this.#running++
    else await this.#turn(caller)
    try {
      return await task()
    } finally {
      this.#startNext()
    }
  }

  #turn(caller: string): Promise<void> {
    const mine = this.#waiting.get(caller) ?? []
    if (mine.length >= this.#limits.perCaller) throw busy()
    if (this.#count >= this.#limits.waiting) this.#refuseOne(mine)
    return new Promise((start, refuse) => {
      this.#count++
      mine.push({ start, refuse })
      this.#waiting.set(caller, mine)
    })
  }

  /** Makes room by refusing the last task of the caller with the most. @throws RateLimited when that is this caller */
  #refuseOne(mine: Waiting[]): void {
    let longest = mine
    for (const tasks of this.#waiting.values()) if (tasks.length > longest.length) longest = tasks
    if (longest === mine) throw busy()
    this.#count--
    longest.pop()?.refuse(busy())
  }

  #startNext(): void {
    const [next] = this.#waiting
    if (!next) {
      this.#running--
      return
    }
    const [caller, tasks] = next
    this.#waiting.delete(caller)
    const task = tasks.shift()
    if (tasks.length > 0) this.#waiting.set(caller, tasks)
    this.#count--
    task?.start()
  }
}

const busy = () => new RateLimited(RETRY_SECONDS).with({ headers: { 'retry-after': String(RETRY_SECONDS) } })
