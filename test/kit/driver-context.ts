import { createHash } from 'node:crypto'
import { tmpdir } from 'node:os'
import { Writable } from 'node:stream'
import { type Clock, systemClock } from '../../core/clock.ts'
import type { DriverContext } from '../../core/driver.ts'
import { createLog } from '../../core/observe/log.ts'

/** What the kernel hands to a driver, for a driver tested on its own; a silent log unless told otherwise. */
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

/** The program's own log, kept: `lines` are the records so far. */
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

/** A clock that stands still until it is told to move. */
export function manualClock(at = new Date('2026-11-21T12:00:00.000Z')): Clock & { advance(ms: number): void } {
  let now = at.getTime()
  return {
    now: () => new Date(now),
    advance(ms) {
      now += ms
    },
  }
}
