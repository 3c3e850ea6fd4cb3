import { createHash } from 'node:crypto'
import { tmpdir } from 'node:os'
import { Writable } from 'node:stream'
import type { Test } from 'tap'
import { type Clock, systemClock } from '../../core/clock.ts'
import type { DriverContext } from '../../core/driver.ts'
import { createLog } from '../../core/observe/log.ts'

/** Returns the kernel's context for a driver that is tested alone. The log is silent by default. */
export function driverContext(overrides: Partial<DriverContext> = {}): DriverContext {
  return {
    dataDir: tmpdir(),
    portalUrl: 'http://localhost:8080',
    clock: systemClock,
    log: createLog('silent'),
    secret: (purpose) => createHash('sha256').update(purpose).digest(),
    ...overrides,
  }
}

/** Captures the program's log; `lines` are the records so far. */
export function captureLog() {
  let text = ''
  const destination = new Writable({
    write(chunk, _encoding, done) {
      text += chunk
      done()
    },
  })
  const lines = (): Record<string, unknown>[] =>
    text
      .trim()
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
  return { log: createLog('trace', destination), lines }
}

/** Creates a clock that advances only on request. */
export function manualClock(at = new Date('2026-11-21T12:00:00.000Z')): Clock & { advance(ms: number): void } {
  let now = at.getTime()
  return {
    now: () => new Date(now),
    advance(ms) {
      now += ms
    },
  }
}

/**
 * Lets a manual clock keep pace with the real one, until the test ends. A fixed step for each interval would fall behind on
 * a busy machine, where clients would then exceed limits of the server.
 */
export function keepPace(t: Pick<Test, 'teardown'>, clock: { advance(ms: number): void }): void {
  let before = performance.now()
  const timer = setInterval(() => {
    const passed = Math.floor(performance.now() - before)
    before += passed
    clock.advance(passed)
  }, 50)
  t.teardown(() => clearInterval(timer))
}
