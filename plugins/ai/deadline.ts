/** A signal that follows another, and also aborts after a timeout. */
export interface Deadline {
  signal: AbortSignal
  /** Clears the timer because the work ended in time. */
  end(): void
}

/**
 * Combines `AbortSignal.any` and `AbortSignal.timeout`, with a timer that is cleared when the work ends: otherwise a
 * timer of minutes for each of many short generations would accumulate.
 *
 * @returns a signal with the other's reason, or a `TimeoutError`
 */
export function deadline(signal: AbortSignal, ms: number): Deadline {
  const controller = new AbortController()
  const follow = () => controller.abort(signal.reason)
  if (signal.aborted) follow()
  signal.addEventListener('abort', follow, { once: true })
  const timer = setTimeout(
    () => controller.abort(new DOMException('The generation took too long.', 'TimeoutError')),
    ms,
  ).unref()
  return {
    signal: controller.signal,
    end: () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', follow)
    },
  }
}
