import { setTimeout as sleep } from 'node:timers/promises'
import { timeLimit } from './time-limit.ts'

const PAUSE_MS = 20

/**
 * Polls until there is a result. Use it for what sends no event.
 *
 * @param ask returns the result, or something falsy as long as there is none
 * @param seconds the limit on an idle machine (`timeLimit`)
 * @returns the result
 */
export async function until<T>(
  ask: () => T | null | undefined | false | Promise<T | null | undefined | false>,
  seconds = 60,
): Promise<T> {
  const deadline = performance.now() + timeLimit(seconds)
  for (;;) {
    const found = await ask()
    if (found) return found
    if (performance.now() > deadline) throw new Error(`Nothing happened within ${seconds} s: ${ask}`)
    await sleep(PAUSE_MS)
  }
}
