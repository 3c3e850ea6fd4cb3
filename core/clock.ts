/** The time, passed in wherever it matters so that tests can move it. */
export interface Clock {
  /** Now, as a date. */
  now(): Date
}

export const systemClock: Clock = { now: () => new Date() }
