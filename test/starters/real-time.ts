import type { Test } from 'tap'
import type { Platform } from '../kit/platform.ts'

/**
 * Lets the clock of a platform follow real time until the test ends. A room counts the messages of a player by it: on a
 * clock that stands still, a game that tells its place 20 times a second is closed after 120 messages.
 */
export function followTime(t: Test, clock: Platform['clock']): void {
  let before = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    clock.advance(now - before)
    before = now
  }, 50)
  t.teardown(() => clearInterval(timer))
}
