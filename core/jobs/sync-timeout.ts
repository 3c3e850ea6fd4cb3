import { runInNewContext } from 'node:vm'

/**
 * Runs synchronous code with a time limit, such as an untrusted regular expression, which can take unbounded time. The
 * event loop is blocked meanwhile.
 *
 * @param ms 1 or more
 * @throws an error that `isTimeout` recognises when the limit is reached
 */
export const runWithTimeout = <Result>(ms: number, work: () => Result): Result =>
  runInNewContext('work()', { work }, { timeout: Math.max(1, Math.floor(ms)) }) as Result

/** Whether an error says that the time of `runWithTimeout` was not enough. */
export const isTimeout = (error: unknown): boolean =>
  (error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
