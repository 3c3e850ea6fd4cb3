import type { FastifyInstance } from 'fastify'
import { probeThreads, threadState } from '../../core/jobs/start-worker.ts'
import { groupMemory } from '../../core/observe/cgroup-memory.ts'
import { formatBytes } from '../../core/pages/index.ts'

/** The interval of checks. */
export const THREAD_WATCH_MS = 2000
/** Threads are refused from this part of the limit on, and allowed again below the other. */
const SHORT = { from: 0.9, below: 0.8 }

type Parts = Pick<FastifyInstance, 'health' | 'clock' | 'log'>

/**
 * Looks whether this process may start threads: whether the system has refused one, and whether the memory of its control
 * group is nearly in use, at whose end the system would kill the process. Meanwhile work that needs a new thread is
 * refused, and `/readyz`, the overview and the log say it.
 */
export class ThreadWatch {
  readonly #parts: Parts
  readonly #memory: typeof groupMemory
  #noted = { exhausted: false, memoryShort: false }

  constructor(parts: Parts, memory = groupMemory) {
    this.#parts = parts
    this.#memory = memory
  }

  /** It never rejects. */
  async look(): Promise<void> {
    // The first look after a refusal notes it, and later ones try again.
    if (this.#noted.exhausted) await probeThreads()
    this.#note(
      'threads',
      'exhausted',
      'The system starts no more threads and programs for this process, so work that needs one is refused. Allow it more: TasksMax=4096 in the unit, or pids_limit of the container.',
      'Threads can be started again.',
    )
    const memory = await this.#memory()
    if (!memory) return
    const part = memory.used / memory.limit
    threadState.memoryShort = part >= (threadState.memoryShort ? SHORT.below : SHORT.from)
    const used = `${formatBytes(memory.used)} of ${formatBytes(memory.limit)}`
    this.#note(
      'memory',
      'memoryShort',
      `The memory of the control group is nearly in use (${used}), so work that needs a new thread is refused. Allow it more: MemoryMax= in the unit, or the memory of the container.`,
      `The control group has free memory again (${used} are in use).`,
    )
  }

  #note(name: string, state: keyof typeof threadState, problem: string, end: string): void {
    const is = threadState[state]
    if (is === this.#noted[state]) return
    this.#noted[state] = is
    const { health, clock, log } = this.#parts
    const message = is ? problem : end
    health.notes.set(name, { state: is ? 'warning' : 'ok', message, at: clock.now() })
    log[is ? 'warn' : 'info'](message)
  }
}
