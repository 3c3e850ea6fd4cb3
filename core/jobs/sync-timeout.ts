import { runInNewContext } from 'node:vm'

/**
 * Runs something that ends by itself, or after a while by force: patterns of strangers, which can take for ever. It holds
 * everybody up for as long.
 *
 * @param ms 1 or more
 * @throws what `isTimeout` knows when the time was not enough
 */
export const runWithTimeout = <Result>(ms: number, work: () => Result): Result =>
  runInNewContext('work()', { work }, { timeout: Math.max(1, Math.floor(ms)) }) as Result

/** Whether an error says that the time of `runWithTimeout` was not enough. */
export const isTimeout = (error: unknown): boolean =>
  (error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
