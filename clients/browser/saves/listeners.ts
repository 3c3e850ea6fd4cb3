import type { SavesEvents } from './types.ts'

/** The game's listeners. An error of one of them stops nothing. */
export class Listeners {
  readonly #listeners = new Map<keyof SavesEvents, Set<(...values: never[]) => unknown>>()

  /** Adds a listener. The returned function removes it. */
  add<Name extends keyof SavesEvents>(name: Name, listener: SavesEvents[Name]): () => void {
    const listeners = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, listeners.add(listener))
    return () => listeners.delete(listener)
  }

  /** Returns the listener that was added last. */
  last<Name extends keyof SavesEvents>(name: Name): SavesEvents[Name] | undefined {
    return [...(this.#listeners.get(name) ?? [])].at(-1) as SavesEvents[Name] | undefined
  }

  emit<Name extends Exclude<keyof SavesEvents, 'conflict'>>(name: Name, value: Parameters<SavesEvents[Name]>[0]): void {
    for (const listener of this.#listeners.get(name) ?? []) {
      try {
        ;(listener as (value: unknown) => void)(value)
      } catch (error) {
        globalThis.reportError?.(error)
      }
    }
  }
}
