import type { SharedState } from './types.ts'

/** What a `SharedState` reads, and how it writes. */
interface Source {
  readonly values: ReadonlyMap<string, unknown>
  readonly version: number
  write(set: Record<string, unknown>, del: string[], options?: { if?: number }): void
}

export const sharedState = (source: Source): SharedState => ({
  get version() {
    return source.version
  },
  get: (key) => source.values.get(key),
  has: (key) => source.values.has(key),
  keys: () => source.values.keys(),
  entries: () => source.values.entries(),
  set: (key, value, options) => source.write({ [key]: value }, [], options),
  assign: (values, options) => source.write(values, [], options),
  delete: (...keys) => source.write({}, keys),
})
