import { setImmediate as afterPromises } from 'node:timers/promises'
import type { Test } from 'tap'

/** What a bus answers that can't be reached. */
export const unavailable = { code: /^bus_unavailable$/i, statusCode: 503 }

/** Fails the test unless an operation fails before anything can arrive or any time passes. */
export async function failsAtOnce(t: Test, operation: () => Promise<unknown>): Promise<void> {
  const failed = t.rejects(operation(), unavailable).then(() => 'failed')
  t.equal(await Promise.race([failed, afterPromises('waits')]), 'failed', 'it fails without waiting')
  await failed
}

/** Returns whether an operation fails. */
export const rejects = (operation: Promise<unknown>): Promise<boolean> =>
  operation.then(
    () => false,
    () => true,
  )
