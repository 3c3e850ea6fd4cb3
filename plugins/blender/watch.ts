import type { Events } from '../../core/events.ts'
import type { Job } from './schemas.ts'

/** How late a watcher hears of what no event told: a worker of its own process may be on no bus. */
const POLL_MS = 1000
/** A line now and then keeps proxies from ending a quiet stream. */
const QUIET_POLLS = 15

/** Tells watchers of jobs as they change. */
export class JobWatch {
  readonly #waiting = new Map<string, Set<() => void>>()
  readonly #closing = new AbortController()

  constructor(events: Events) {
    events.on('blender.job', ({ jobId }) => {
      for (const wake of this.#waiting.get(jobId) ?? []) wake()
    })
  }

  /**
   * A job as server-sent events (`event: job`, its record as data): at once, at each change, and a last time when it is
   * over. Ends with the job, or when the server stops.
   *
   * @param read gives the job as it stands; its error ends the stream
   */
  async *follow(jobId: string, read: () => Promise<Job>): AsyncGenerator<string> {
    let last = ''
    let quiet = 0
    while (!this.#closing.signal.aborted) {
      const changed = this.#change(jobId)
      const job = await read()
      const text = JSON.stringify(job)
      if (text !== last) yield `event: job\ndata: ${text}\n\n`
      else if (++quiet % QUIET_POLLS === 0) yield ': still there\n\n'
      last = text
      if (job.status !== 'queued' && job.status !== 'running') return
      await changed
    }
  }

  /** Ends all streams. */
  close(): void {
    this.#closing.abort()
    for (const waiting of this.#waiting.values()) for (const wake of waiting) wake()
  }

  #change(jobId: string): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(jobId) ?? new Set()
      const wake = () => {
        clearTimeout(timer)
        waiting.delete(wake)
        if (waiting.size === 0) this.#waiting.delete(jobId)
        resolve()
      }
      const timer = setTimeout(wake, POLL_MS)
      this.#waiting.set(jobId, waiting.add(wake))
    })
  }
}
