import { runInNewContext } from 'node:vm'

/**
 * Runs synchronous code with a time limit, such as an untrusted regular expression, which can take unbounded time. The
 * event loop is blocked meanwhile.
 *
 * @param ms 1 or more
 * @throws an error that `isTimeout` recognises when the limit is reached
 */
export function runWithTimeout<Result>(ms: number, work: () => Result): Result {
  const before = processorMs()
  try {
    return runInNewContext('work()', { work }, { timeout: Math.max(1, Math.floor(ms)) }) as Result
  } catch (error) {
    if (isTimeout(error) && processorMs() - before < ms / 2) starved.add(error as Error)
    throw error
  }
}

/** Timeout errors for which other processes used most of the CPU time. */
const starved = new WeakSet<Error>()

function processorMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** Whether an error reports the timeout of `runWithTimeout`. */
export const isTimeout = (error: unknown): boolean =>
  (error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'

/**
 * Whether the timeout was reached although the thread ran for less than half of the time: the machine is busy, and the
 * work may be short.
 */
export const wasStarved = (error: unknown): boolean => starved.has(error as Error)
