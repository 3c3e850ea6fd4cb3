/** The messages between the runner and its workers. */

/** To a worker: the next test file as a path from the project's root; null when no files remain. */
export interface Order {
  file: string | null
}

export interface Counts {
  passed: number
  failed: number
  skipped: number
}

/** From a worker: a test file has ended. */
export interface Outcome {
  file: string
  counts: Counts
  /** Each failure as text for people: location, message, and found value. */
  failures: string[]
  /** The reasons for skipped tests, one per test. */
  skips: string[]
  seconds: number
  /** The CPU time of this process and its ended children. Null where the system does not report it. */
  processorSeconds: number | null
  /** Whether tests of the file may continue after the timeout. The worker must then get no other file. */
  timedOut: boolean
}

/** From a worker, periodically: its event loop runs. */
export type Report = Outcome | 'alive'
