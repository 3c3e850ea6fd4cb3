/** The source of time, injected so that tests can control it. */
export interface Clock {
  /** Returns the current time as a date. */
  now(): Date
}

export const systemClock: Clock = { now: () => new Date() }
