import type { Test } from 'tap'

/** Notes the pauses of the SDK between its attempts, and shortens them. */
export function waitsOf(t: Test): number[] {
  const waits: number[] = []
  const { setTimeout } = globalThis
  const noting = (run: () => void, ms = 0, ...rest: unknown[]) => {
    if (!/at pause .*clients.sdk/.test(String(new Error().stack))) return setTimeout(run, ms, ...rest)
    waits.push(ms)
    return setTimeout(run, 1)
  }
  globalThis.setTimeout = Object.assign(noting, setTimeout)
  t.teardown(() => {
    globalThis.setTimeout = setTimeout
  })
  return waits
}
