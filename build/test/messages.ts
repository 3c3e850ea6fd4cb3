/** What the runner and its workers tell each other. */

/** To a worker: the test file that it runs next, as a path from the project's root; null when there is no more. */
export interface Order {
  file: string | null
}

export interface Counts {
  passed: number
  failed: number
  skipped: number
}

/** From a worker: a test file has come to its end. */
export interface Outcome {
  file: string
  counts: Counts
  /** Each as text for people: where it is, what it says, what was found. */
  failures: string[]
  /** Why tests were skipped, once for each test. */
  skips: string[]
  seconds: number
  /** Processor time of this process and of all that it started and that have ended. Null where the system doesn't tell. */
  processorSeconds: number | null
  /** Its tests may go on behind our backs: the worker must not be given another file. */
  timedOut: boolean
}

/** From a worker, from time to time: its event loop turns. */
export type Report = Outcome | 'alive'
